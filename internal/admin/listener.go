package admin

import (
	"net"
	"sync"

	"golang.org/x/net/netutil"
)

// connectionsAtOnce bounds what the admin side may take of the process's descriptors, which jobs need.
const connectionsAtOnce = 64

// limited is a listener of which no more than so many connections are open at once. The others wait in the kernel's
// backlog; each of those that are open has its deadlines, so that none can hold its place for long.
type limited struct {
	net.Listener
	share int // of one address

	mu   sync.Mutex
	from map[string]int // guarded by mu: open connections by address
}

// newLimited gives no address more than half of the places: else the others of its network would wait for it alone, a
// kubelet's probes among them.
func newLimited(ln net.Listener, most int) *limited {
	return &limited{Listener: netutil.LimitListener(ln, most), share: most / 2, from: make(map[string]int)}
}

// Accept waits for a place, then for a connection. One of an address that has its share already is hung up on.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := callerOf(c.RemoteAddr().String())
		if l.enter(address) {
			return &counted{Conn: c, leave: func() { l.leave(address) }}, nil
		}
		_ = c.Close()
	}
}

// enter notes one connection more of an address, unless it has its share. Who may connect to a unix socket is trusted.
func (l *limited) enter(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if address != "unix" && l.from[address] >= l.share {
		return false
	}
	l.from[address]++
	return true
}

func (l *limited) leave(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[address]--; l.from[address] == 0 {
		delete(l.from, address)
	}
}

// counted is a connection that counts for its address until it is closed.
type counted struct {
	net.Conn
	leave func()
	once  sync.Once
}

// Close closes the connection, and may be called again.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}
