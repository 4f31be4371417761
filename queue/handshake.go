package queue

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	dialTimeout = 3 * time.Second

	// helloTimeout is how long HELLO may go unanswered until the server is taken for one that does not know it.
	helloTimeout = 2 * time.Second
)

// notKnown is what a server older than Redis 6 answers to HELLO. The client library then goes on with AUTH and SELECT.
var notKnown = []byte("-ERR unknown command 'HELLO'\r\n")

// full is what a server says to a new connection that it has no room for. It has not looked at HELLO.
var full = []byte("-ERR max number of clients")

// refusedError says that a server wants nothing of a connection: it has no room, or is in protected mode. Nothing was
// asked of it. It wraps nothing: the library takes one layer off.
type refusedError struct{ addr, reply string }

func (e refusedError) Error() string {
	return fmt.Sprintf("redis at %s refuses the connection: %s", e.addr, e.reply)
}

// handshake opens connections for the client library, which begins each with HELLO and gives up when the reply is
// not one that it expects. Proxies close the connection on it, hang, or answer anything. So
// whatever is not a proper reply is taken for "unknown", on a new connection, and from then on HELLO is not
// sent at all; nor is it with protocol = 2. RESP2 does all that the sidecar needs.
type handshake struct {
	tls   *tls.Config   // nil: none
	idle  time.Duration // after which a connection is closed
	plain atomic.Bool   // HELLO is not sent
}

func newHandshake(protocol int, conf *tls.Config) *handshake {
	h := &handshake{tls: conf, idle: idleTimeout + idleTimeout/4}
	h.plain.Store(protocol == 2)
	return h
}

// dial opens a connection to addr. It returns no error: see unreached.
func (h *handshake) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := h.open(ctx, network, addr)
	if err != nil {
		return unreachedConn(network, addr, err), nil
	}
	c := &helloConn{Conn: conn, handshake: h, network: network, addr: addr}
	if _, ok := conn.(syscall.Conn); ok {
		return checkedConn{c}, nil
	}
	return c, nil
}

func (h *handshake) open(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := &net.Dialer{KeepAlive: 15 * time.Second}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil || h.tls == nil {
		return conn, err
	}
	conf := h.tls.Clone()
	if host, _, err := net.SplitHostPort(addr); err == nil && conf.ServerName == "" {
		conf.ServerName = host
	}
	encrypted := tls.Client(conn, conf)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("tls with %s: %w", addr, err)
	}
	return encrypted, nil
}

// helloConn is a connection that watches its first exchange. Only its user's goroutine touches it until then.
type helloConn struct {
	net.Conn
	handshake     *handshake
	network, addr string
	idler         idler

	begun  bool   // something has been written
	asked  bool   // HELLO is sent and not answered yet
	trial  bool   // the second connection, without HELLO: whether that works is not known yet
	answer []byte // what Read gives out before it reads
	failed error  // what Read and Write give out for ever: the library looks once for its own purposes and drops the error
}

// Write sends p. A HELLO that shall not be sent is answered here.
func (c *helloConn) Write(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	first := !c.begun
	c.begun = true
	if !first {
		c.idler.use(c.handshake.idle, c.Conn) // the last one: its first exchange is over
	}
	if !first || !isHello(p) {
		return c.Conn.Write(p)
	}
	if c.handshake.plain.Load() {
		c.answer = notKnown
		return len(p), nil
	}
	c.asked = true
	return c.Conn.Write(p)
}

// Read reads into p. What a server makes of a HELLO that it does not know is replaced by a plain "unknown".
func (c *helloConn) Read(p []byte) (int, error) {
	if len(c.answer) > 0 {
		n := copy(p, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	if c.failed != nil {
		return 0, c.failed
	}
	if c.asked {
		return c.readHello(p)
	}
	n, err := c.Conn.Read(p)
	if n > 0 && !c.begun { // the library looks for pushes first, and would take this for the reply to what it asks next
		return c.refused(p[:n])
	}
	if n > 0 && c.trial && !bytes.HasPrefix(p[:n], full) {
		c.trial = false
		c.handshake.plain.Store(true)
	}
	c.idler.use(c.handshake.idle, c.Conn)
	return n, err
}

// readHello reads the reply to HELLO.
func (c *helloConn) readHello(p []byte) (int, error) {
	c.asked = false
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	n, err := c.Conn.Read(p)
	if err == nil && n > 0 && (p[0] == '%' || p[0] == '*') { // a map, or a list in RESP2
		return n, nil
	}
	if err == nil && bytes.HasPrefix(p[:n], full) {
		return c.refused(p[:n])
	}
	if err == nil {
		err = errors.New("an answer that is none")
	}
	return c.withoutHello(p, err)
}

// refused ends a connection of which the server wants nothing.
func (c *helloConn) refused(reply []byte) (int, error) {
	c.failed = refusedError{c.addr, string(bytes.TrimSpace(reply))}
	return 0, c.failed
}

// withoutHello starts again on a new connection, without HELLO; from now on, once that one has worked: a server that is
// full may close a connection before it has said so.
func (c *helloConn) withoutHello(p []byte, why error) (int, error) {
	c.trial = true
	conn, err := c.handshake.open(context.Background(), c.network, c.addr)
	if err != nil {
		c.failed = fmt.Errorf("redis at %s does not know HELLO (%w), and no second connection: %w; set protocol = 2", c.addr, why, err)
		return 0, c.failed
	}
	_ = c.Conn.Close()
	c.Conn = conn
	c.answer = notKnown
	return c.Read(p)
}

// Close closes the connection.
func (c *helloConn) Close() error {
	c.idler.stop()
	return c.Conn.Close()
}

// isHello reports whether p is the command HELLO in RESP.
func isHello(p []byte) bool {
	if len(p) == 0 || p[0] != '*' {
		return false
	}
	_, command, _ := bytes.Cut(p, []byte("\r\n"))
	return len(command) >= 9 && bytes.EqualFold(command[:9], []byte("$5\r\nhello"))
}

// checkedConn lets the client library see whether an idle connection still stands, before it is used for a
// command: without, the first one after an idle time would meet what the server closed meanwhile.
// Over TLS there is no looking into the socket.
type checkedConn struct{ *helloConn }

// SyscallConn returns the socket.
func (c checkedConn) SyscallConn() (syscall.RawConn, error) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return conn.SyscallConn()
}
