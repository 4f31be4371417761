package queue

import (
	"fmt"
	"net"
	"time"
)

// unreached stands for a connection that could not be opened, and says why at its first use. The client library
// counts dials that fail, and after some of them opens nothing for up to a second, whoever asks and however long
// Redis has been back: an outage of a moment would be one of a second. Longer than the others leave a short lease
// alone, and a Redis that comes and goes would be missed for as long as it does. Who waits for Redis has a
// backoff of his own.
type unreached struct {
	why  error
	addr unreachedAddr
}

// unreachedConn returns the connection to addr that could not be opened for why.
func unreachedConn(network, addr string, why error) net.Conn {
	// The library takes one layer off the error: what is below must still say that it was the dial (mayHaveRun).
	return unreached{why: fmt.Errorf("no connection: %w", why), addr: unreachedAddr{network, addr}}
}

// Read says why there is no connection.
func (u unreached) Read([]byte) (int, error) { return 0, u.why }

// Write says why there is no connection.
func (u unreached) Write([]byte) (int, error) { return 0, u.why }

// Close closes nothing.
func (unreached) Close() error { return nil }

// LocalAddr is the address that was tried: there is no other.
func (u unreached) LocalAddr() net.Addr { return u.addr }

// RemoteAddr is the address that was tried.
func (u unreached) RemoteAddr() net.Addr { return u.addr }

// SetDeadline changes nothing: nobody waits here.
func (unreached) SetDeadline(time.Time) error { return nil }

// SetReadDeadline changes nothing.
func (unreached) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline changes nothing.
func (unreached) SetWriteDeadline(time.Time) error { return nil }

// unreachedAddr is an address as it was dialled.
type unreachedAddr struct{ network, addr string }

// Network returns "tcp" or "unix".
func (a unreachedAddr) Network() string { return a.network }

// String returns host:port, or a path.
func (a unreachedAddr) String() string { return a.addr }
