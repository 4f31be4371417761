package fastcgi

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
)

// flushAt is how much of a request is gathered before it is sent: a job of the usual size goes out in one write.
const flushAt = 64 << 10

// conn is the connection that gofast is given. It sends what gofast writes, and reads the reply itself: gofast
// sees an END_REQUEST, or an error, and nothing else, so that it never holds output and never blocks on its pipes.
type conn struct {
	net.Conn
	in    *bufio.Reader
	out   []byte // written by gofast's writing goroutine only
	reply *reply // written by gofast's reading goroutine only, until over is closed
	hello chan<- greeting

	end     []byte // what is left of the END_REQUEST for gofast
	over    chan struct{}
	overErr error // why the exchange is over; nil = END_REQUEST. Written before over is closed

	written atomic.Bool // the whole request has been handed to the kernel
	close   sync.Once
}

func newConn(c net.Conn, r *reply, hello chan<- greeting) *conn {
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 16<<10), reply: r, hello: hello}
}

// attend lets others tell what has been noted of the reply. Call it before the first request.
func (c *conn) attend() *attentive {
	a := &attentive{Conn: c.Conn}
	c.in.Reset(a)
	return a
}

// Write gathers gofast's records, one a call, until the one that ends the request.
func (c *conn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	last := endsStdin(p)
	if !last && len(c.out) < flushAt {
		return len(p), nil
	}
	_, err := c.Conn.Write(c.out)
	c.out = c.out[:0]
	if err != nil {
		return 0, err
	}
	if last {
		c.written.Store(true)
	}
	return len(p), nil
}

// Read reads the reply up to its end and shows gofast that end.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.end) == 0 {
		c.overErr = c.receive()
		close(c.over)
		if c.overErr != nil {
			return 0, c.overErr
		}
		c.end = endRecord()
	}
	n := copy(p, c.end)
	c.end = c.end[n:]
	return n, nil
}

// receive takes records until END_REQUEST.
func (c *conn) receive() error {
	for {
		head, err := readHeader(c.in)
		if err != nil {
			return err
		}
		if err := readContent(c.in, head, func(p []byte) { c.take(head.kind, p) }); err != nil {
			return err
		}
		if head.kind == endRequest {
			return nil
		}
	}
}

func (c *conn) take(kind recordType, p []byte) {
	switch kind {
	case stdout:
		c.reply.addStdout(p)
	case stderr:
		if hello, ok := c.reply.addStderr(p); ok {
			select {
			case c.hello <- hello:
			default: // it came over the report socket, too
			}
		}
	case endRequest, stdin: // nothing in it that FPM would mean (FPM-FACTS 1)
	}
}

// Close closes the connection once.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.close.Do(func() { err = c.Conn.Close() })
	return err
}

// closeRead makes every later write of the other side fail, and leaves readable what it wrote before. It
// reports whether the connection can do so: a unix socket can, TCP cannot.
func (c *conn) closeRead() bool {
	u, ok := c.Conn.(*net.UnixConn)
	return ok && u.CloseRead() == nil
}

// reset closes a TCP connection so that the other side's next write fails, as far as TCP can.
func (c *conn) reset() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // closed below in any case
	}
	_ = c.Close()
}
