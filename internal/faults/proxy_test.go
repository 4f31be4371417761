package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"sidecar/internal/testenv"
)

// proxy stands between sidecars and a Redis and breaks what passes. The relay in front acts on the calls of
// single scripts; toxiproxy behind it does to the bytes what networks do.
//
//	sidecar ──► front ──► relay ──► toxiproxy ──► redis
//
// Each sidecar has a front of its own, by which a watch can tell whose call it was.
type proxy struct {
	t      testing.TB
	toxic  *toxiproxy.Proxy
	listen string // its address: toxiproxy writes its own field anew at each start
	relay  relay
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool              // guarded by mu
	fronts []net.Listener    // guarded by mu
	conns  map[net.Conn]bool // guarded by mu: both ends of what is open
}

// newProxy returns a proxy before the Redis at upstream (host:port) until the test ends. While it refuses connections its
// address is nobody else's.
func newProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{
		t:     t,
		toxic: toxiproxy.NewProxy(server, "redis", testenv.FreeAddr(t), upstream),
		conns: make(map[net.Conn]bool),
	}
	if err := p.toxic.Start(); err != nil {
		t.Fatal(err)
	}
	p.listen = p.toxic.Listen
	t.Cleanup(p.close)
	return p
}

// front opens one more address to reach Redis by, and returns it as host:port.
func (p *proxy) front() string {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.fronts = append(p.fronts, l)
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client, l.Addr().String()) })
		}
	})
	return l.Addr().String()
}

func (p *proxy) serve(client net.Conn, front string) {
	server, err := net.Dial("tcp", p.listen)
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.keep(client, server) {
		return
	}
	defer p.drop(client, server)
	p.relay.pass(client, server, front)
}

// keep notes an open connection, so that close finds it. After close it ends it at once.
func (p *proxy) keep(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		if p.closed {
			_ = end.Close()
			continue
		}
		p.conns[end] = true
	}
	return !p.closed
}

func (p *proxy) drop(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range ends {
		_ = end.Close()
		delete(p.conns, end)
	}
}

// cutAll closes every connection of now; new ones work. It returns how many there were.
func (p *proxy) cutAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for end := range p.conns {
		_ = end.Close()
	}
	return len(p.conns) / 2
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.fronts {
		_ = l.Close()
	}
	p.mu.Unlock()
	p.cutAll()
	p.wg.Wait()
	p.toxic.Stop()
}

// direction says which bytes a toxic is for.
type direction string

const (
	requests direction = "upstream"
	replies  direction = "downstream"
)

// spoil adds one of toxiproxy's toxics (latency, slicer, limit_data, reset_peer, timeout, bandwidth) to
// every connection, those of now included. The function it returns takes it back, whether or not ctx has ended.
func (p *proxy) spoil(ctx context.Context, toxic string, what direction, attributes map[string]int) (mend func()) {
	p.t.Helper()
	text, err := json.Marshal(map[string]any{"type": toxic, "stream": what, "attributes": attributes})
	if err != nil {
		p.t.Fatal(err)
	}
	added, err := p.toxic.Toxics.AddToxicJson(bytes.NewReader(text))
	if err != nil {
		p.t.Fatalf("toxic %s: %v", text, err)
	}
	return func() {
		if err := p.toxic.Toxics.RemoveToxic(context.WithoutCancel(ctx), added.Name); err != nil {
			p.t.Errorf("take back %s: %v", text, err)
		}
	}
}

// refuse has the proxy take no connections, and cuts those of now, as a server that is gone. The function it
// returns lets it go on at the same address.
func (p *proxy) refuse() (mend func()) {
	p.t.Helper()
	p.toxic.Stop()
	return func() {
		if err := p.toxic.Start(); err != nil {
			p.t.Errorf("start the proxy again: %v", err)
		}
	}
}
