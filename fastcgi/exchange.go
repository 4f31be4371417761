package fastcgi

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/yookoala/gofast"
)

const (
	// dialTimeout bounds a connect to FPM: with a full backlog TCP drops the SYN and lets us wait (FPM-FACTS 4).
	dialTimeout = 5 * time.Second
	// paramsLimit keeps all parameters within one record: FPM refuses a pair that straddles two (FPM-FACTS 7).
	paramsLimit = 48 << 10
)

// errTooManyParams reports options whose parameters FPM could not read.
var errTooManyParams = errors.New("the request's parameters exceed 48 KB")

// exchange is a connection to FPM with one request at a time on it, spoken by gofast.
type exchange struct {
	conn   *conn
	client gofast.Client
	done   chan struct{} // closed when gofast has let go of the request
}

// dial connects to FPM. What comes back goes to r, and a hello to hello.
func dial(ctx context.Context, to address, r *reply, hello chan<- greeting) (*exchange, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	raw, err := dialer.DialContext(ctx, to.network, to.name)
	if err != nil {
		return nil, err
	}
	c := newConn(raw, r, hello)
	client, err := gofast.SimpleClientFactory(func() (net.Conn, error) { return c, nil })()
	return &exchange{conn: c, client: client}, err
}

// send starts a request, on a connection whose last one is done. The returned channel is closed when the reply is over.
func (x *exchange) send(params map[string]string, body string) (<-chan struct{}, error) {
	size := 0
	for name, value := range params {
		size += len(name) + len(value) + 8
	}
	if size > paramsLimit {
		return nil, errTooManyParams
	}
	x.conn.over = make(chan struct{})
	x.conn.written.Store(false)
	request := gofast.NewRequest(nil)
	request.Params = params
	request.Stdin = io.NopCloser(strings.NewReader(body))
	pipes, err := x.client.Do(request)
	if err != nil {
		return nil, err
	}
	x.done = make(chan struct{})
	go func() {
		_ = pipes.WriteTo(nowhere{}, io.Discard) // gofast's errors are ours, seen on the connection first
		close(x.done)
	}()
	return x.conn.over, nil
}

// close closes the connection and waits until gofast has noticed.
func (x *exchange) close() {
	_ = x.conn.Close() // what could be lost is on its way back, not out
	if x.done != nil {
		<-x.done
	}
}

// ended reports, once a reply is over, that it ended with END_REQUEST.
func (x *exchange) ended() bool { return x.conn.overErr == nil }

// nowhere takes the response that gofast believes in. There is never one: conn keeps it to itself.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}
