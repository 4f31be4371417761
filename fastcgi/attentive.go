package fastcgi

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// attentive reads a connection so that others can tell whether all that has arrived on it has been noted: what the
// kernel still has is unread, and what it has handed out is in hand until the next read is asked for. There is no
// moment in which something is neither.
type attentive struct {
	net.Conn
	inHand atomic.Bool
}

// Read waits until there is something to read, says so, and only then takes it.
func (a *attentive) Read(p []byte) (int, error) {
	a.inHand.Store(false)
	if c, ok := a.Conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			_ = raw.Read(func(fd uintptr) bool { return !errors.Is(peek(fd), syscall.EAGAIN) }) // Read below has the error
		}
	}
	a.inHand.Store(true)
	return a.Conn.Read(p)
}

// noted reports that everything that has arrived has been read and taken care of.
func (a *attentive) noted() bool { return !hasUnread(a.Conn) && !a.inHand.Load() }

// hasUnread reports that something has arrived on c that nobody has read.
func hasUnread(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var state error
	err = raw.Control(func(fd uintptr) { state = peek(fd) })
	return err == nil && state == nil
}

// errEnd is what peek finds behind the last byte.
var errEnd = errors.New("the other side has closed")

// peek looks what the next read of fd would bring: nil is data. It takes nothing and does not wait.
func peek(fd uintptr) error {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if err == nil && n == 0 {
		return errEnd
	}
	return err
}
