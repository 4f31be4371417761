package queue_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"encoding/hex"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// cutter is a proxy before Redis that, when a chosen script is called, lets Redis run it and cuts the
// connection in place of the reply.
type cutter struct {
	listener net.Listener
	server   *testenv.RedisServer

	mu    sync.Mutex
	sha   []byte
	after bool      // forward before cutting
	left  int       // cuts to make
	cuts  int       // made
	at    time.Time // when Redis's reply to the last that was forwarded came
}

func newCutter(t testing.TB, server *testenv.RedisServer) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, server: server}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { c.serve(client) })
		}
	})
	t.Cleanup(func() { _ = listener.Close() })
	return c
}

// cut arms the proxy: the next n calls of the script lose their reply, or, when before is set, do not
// even reach Redis.
func (c *cutter) cut(t testing.TB, script string, n int, before bool) {
	t.Helper()
	source, err := os.ReadFile("lua/" + script + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	// Loaded beforehand, or the reply that is cut would be NOSCRIPT.
	if err := c.server.Client().ScriptLoad(t.Context(), string(source)).Err(); err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(source) //nolint:gosec // as above
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sha, c.left, c.cuts, c.after = []byte(hex.EncodeToString(sum[:])), n, 0, !before
}

func (c *cutter) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// claimed waits for the cut of an empty claim, and puts text into running as that claim would have.
func (c *cutter) claimed(t testing.TB, b bench, lease time.Duration, text string) {
	t.Helper()
	var at time.Time
	eventually(t, "an empty claim to be cut", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		at = c.at
		return !at.IsZero()
	})
	b.do(t, "ZADD", b.keys.Running, at.Add(lease).UnixMilli(), text) //nolint:forbidigo // the clock of this host is its Redis's, too
}

// hit reports whether the request is to lose its reply, and whether Redis gets to see it.
func (c *cutter) hit(request []byte) (cut, forward bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || !bytes.Contains(request, c.sha) {
		return false, true
	}
	c.left--
	c.cuts++
	return true, c.after
}

// serve passes requests and replies one at a time, as the client sends them.
func (c *cutter) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", c.server.Addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	muted := make(chan struct{})
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				_ = client.Close()
				return
			}
			select {
			case <-muted: // Redis has run it; nobody hears
				c.mu.Lock()
				c.at = time.Now()
				c.mu.Unlock()
				_ = client.Close()
				return
			default:
				_, _ = client.Write(buffer[:n])
			}
		}
	}()
	buffer := make([]byte, 1<<20)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		cut, forward := c.hit(buffer[:n])
		if !forward {
			return
		}
		if cut {
			close(muted)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// behind returns a bench whose Store goes through the proxy; its other calls do not.
func (c *cutter) behind(t testing.TB, b bench, change func(*queue.Options)) bench {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	if change != nil {
		change(&opts)
	}
	rdb := redis.NewClient(&redis.Options{Addr: c.listener.Addr().String(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	b.Store = queue.NewStore(rdb, "", opts)
	return b
}
