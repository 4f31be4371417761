package faults

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"encoding/hex"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// step is a point on the way of a call.
type step int

const (
	asked    step = iota + 1 // the call has left the sidecar; Redis has not seen it
	answered                 // Redis has run it; the sidecar has not seen the reply
	heard                    // the reply has been written to the sidecar
)

// fate is what becomes of a call at a step.
type fate int

const (
	pass fate = iota + 1 // it goes on
	cut                  // its connection is closed: a call that was asked never runs, a reply that was answered is lost
)

// watch acts on the calls of one script.
type watch struct {
	sha   []byte
	title []byte // the first line of the source, by which EVAL is known
	when  step
	do    func(front string) fate
}

// relay passes bytes between clients and a server as they come, and has watches act on calls. It sees a
// script at the beginning of a chunk, which holds for clients that send one call at a time.
type relay struct {
	mu      sync.Mutex
	watches []*watch // guarded by mu
}

// watch has do called for each call of a script (claim, complete, requeue, bury, renew, promote, expired) that
// reaches the step, until stop. The call waits while do runs, and no other connection does; front is the
// address by which it came. An EVALSHA that Redis answers with NOSCRIPT is no call, the EVAL after it is.
func (p *proxy) watch(script string, when step, do func(front string) fate) (stop func()) {
	p.t.Helper()
	w := newWatch(p.t, script, when, do)
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	p.relay.watches = append(p.relay.watches, w)
	return func() {
		p.relay.mu.Lock()
		defer p.relay.mu.Unlock()
		p.relay.watches = slices.DeleteFunc(p.relay.watches, func(have *watch) bool { return have == w })
	}
}

func newWatch(t testing.TB, script string, when step, do func(string) fate) *watch {
	t.Helper()
	source, err := os.ReadFile("../../queue/lua/" + script + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	title, _, _ := bytes.Cut(source, []byte("\n"))
	sum := sha1.Sum(source) //nolint:gosec // as above
	return &watch{sha: []byte(hex.EncodeToString(sum[:])), title: title, when: when, do: do}
}

// of returns the watches for the script that a chunk of requests calls.
func (r *relay) of(chunk []byte) []*watch {
	head := chunk[:min(len(chunk), 512)]
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*watch
	for _, w := range r.watches {
		if bytes.Contains(head, w.sha) || bytes.Contains(head, w.title) {
			list = append(list, w)
		}
	}
	return list
}

// call is what one connection waits for.
type call struct {
	mu      sync.Mutex
	watches []*watch // guarded by mu: whose reply comes next
}

func (c *call) set(list []*watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = list
}

// take returns the watches that the chunk of replies is for.
func (c *call) take(chunk []byte) []*watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.watches
	c.watches = nil
	if bytes.HasPrefix(chunk, []byte("-NOSCRIPT")) {
		return nil
	}
	return list
}

// pass copies both ways until either side ends.
func (r *relay) pass(client, server net.Conn, front string) {
	var waits call
	var wg sync.WaitGroup
	wg.Go(func() {
		copyChunks(client, server, func(chunk []byte, write func() error) error {
			list := waits.take(chunk)
			if fated(list, answered, front) == cut {
				return net.ErrClosed
			}
			err := write()
			if fated(list, heard, front) == cut {
				return net.ErrClosed
			}
			return err
		})
	})
	copyChunks(server, client, func(chunk []byte, write func() error) error {
		list := r.of(chunk)
		if fated(list, asked, front) == cut {
			return net.ErrClosed
		}
		if len(list) > 0 {
			waits.set(list)
		}
		return write()
	})
	wg.Wait()
}

// fated has the watches of a step act; one that cuts is enough.
func fated(list []*watch, when step, front string) fate {
	result := pass
	for _, w := range list {
		if w.when == when && w.do(front) == cut {
			result = cut
		}
	}
	return result
}

// copyChunks passes each chunk to on, which writes it, until one side ends. Then it ends both, in the same
// way: a reset is passed on as a reset.
func copyChunks(to, from net.Conn, on func(chunk []byte, write func() error) error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err == nil {
			err = on(buf[:n], func() error { _, err := to.Write(buf[:n]); return err })
		}
		if err == nil {
			continue
		}
		if tcp, ok := to.(*net.TCPConn); ok && errors.Is(err, syscall.ECONNRESET) {
			_ = tcp.SetLinger(0)
		}
		_ = to.Close()
		_ = from.Close()
		return
	}
}

// hold keeps the next n calls of a script at the step until release; those that come later pass.
// reached is closed when the first has come.
func (p *proxy) hold(script string, when step, n int) (reached <-chan struct{}, release func()) {
	p.t.Helper()
	came, freed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	left := counter(n)
	stop := p.watch(script, when, func(string) fate {
		if left() {
			once.Do(func() { close(came) })
			<-freed
		}
		return pass
	})
	release = sync.OnceFunc(func() { stop(); close(freed) })
	p.t.Cleanup(release) // before the proxy's own end, which waits for its connections
	return came, release
}

// cutCalls cuts the next n calls of a script at the step. made tells how many were cut so far.
func (p *proxy) cutCalls(script string, when step, n int) (made func() int, stop func()) {
	p.t.Helper()
	var mu sync.Mutex
	cuts := 0
	stop = p.watch(script, when, func(string) fate {
		mu.Lock()
		defer mu.Unlock()
		if cuts >= n {
			return pass
		}
		cuts++
		return cut
	})
	made = func() int {
		mu.Lock()
		defer mu.Unlock()
		return cuts
	}
	return made, stop
}

// counter returns a function that reports true n times.
func counter(n int) func() bool {
	var mu sync.Mutex
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		n--
		return n >= 0
	}
}
