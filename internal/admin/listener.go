package admin

import (
	"net"
	"sync"
)

// connectionsAtOnce bounds what the admin side may take of the process's descriptors, which jobs need.
const connectionsAtOnce = 64

// limited is a listener of which no more than so many connections are open at once. The others wait in the kernel's
// backlog; each of those that are open has its deadlines, so that none can hold its place for long.
type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLimited(ln net.Listener, most int) *limited {
	return &limited{Listener: ln, places: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits for a place, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: c, places: l.places}, nil
}

// Close ends every Accept.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

// Close closes the connection, and may be called again.
func (c *placed) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.places })
	return err
}
