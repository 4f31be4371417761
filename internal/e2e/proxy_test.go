package e2e

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy stands between a sidecar and its Redis and can behave as networks and starting servers do.
type proxy struct {
	addr     string
	upstream string

	mu      sync.Mutex
	loading bool                // guarded by mu: every command is answered with LOADING
	deafTo  string              // guarded by mu: commands that hold this text are swallowed
	conns   map[net.Conn]*relay // guarded by mu, by the client's side
}

// relay is one connection through the proxy.
type relay struct {
	mu       sync.Mutex
	swallows bool // guarded by mu: nothing comes through any more, and nobody is told
}

func newProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), upstream: upstream, conns: make(map[net.Conn]*relay)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for client := range p.conns {
			_ = client.Close()
		}
		p.mu.Unlock()
		wg.Wait()
	})
	return p
}

// setLoading makes the proxy answer as a Redis does that reads its data set, or ends that.
func (p *proxy) setLoading(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loading = on
}

func (p *proxy) isLoading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loading
}

// setDeafTo makes the proxy swallow commands that hold the text, or none with "".
func (p *proxy) setDeafTo(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deafTo = text
}

func (p *proxy) isDeafTo(chunk []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deafTo != "" && bytes.Contains(chunk, []byte(p.deafTo))
}

// swallow forgets all connections of now as a firewall does: what is sent on them arrives nowhere, and no reset
// says so. New ones work. It returns how many there were.
func (p *proxy) swallow() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.conns {
		r.mu.Lock()
		r.swallows = true
		r.mu.Unlock()
	}
	return len(p.conns)
}

func (p *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	r := &relay{}
	p.mu.Lock()
	p.conns[client] = r
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	go func() { // ends with either side
		r.copy(client, server)
		_ = client.Close()
	}()
	p.requests(r, client, server)
}

// requests passes commands on, or answers them with LOADING.
func (p *proxy) requests(r *relay, client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch {
		case p.isDeafTo(buf[:n]):
		case p.isLoading():
			_, err = io.WriteString(client, strings.Repeat("-LOADING Redis is loading the dataset in memory\r\n", commandsIn(buf[:n])))
		default:
			err = r.pass(server, buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// commandsIn counts the commands of a chunk of RESP: each begins with a line such as *3.
func commandsIn(chunk []byte) int {
	n := bytes.Count(chunk, []byte("\r\n*"))
	if bytes.HasPrefix(chunk, []byte("*")) {
		n++
	}
	return n
}

// copy passes on what from sends, until it ends.
func (r *relay) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if r.pass(to, buf[:n]) != nil {
			return
		}
	}
}

func (r *relay) pass(to net.Conn, chunk []byte) error {
	r.mu.Lock()
	swallows := r.swallows
	r.mu.Unlock()
	if swallows {
		return nil
	}
	_, err := to.Write(chunk)
	return err
}
