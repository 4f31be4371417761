package fastcgi

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
)

// headerLineKept bounds what is kept of one header line; only Status is read, and it is short.
const headerLineKept = 1 << 10

// reply is what FPM sends back, read as it comes. It belongs to the goroutine that reads the connection
// until the exchange is over; only a resident worker's stderr is taken before.
type reply struct {
	mu   sync.Mutex  // of err
	said atomic.Bool // there is something in err

	watch   helloWatch
	greeted bool

	status int // of the Status header; 0 without, which means 200
	line   []byte
	inBody bool

	out kept
	err kept
}

func newReply(n nonce, limit int) *reply {
	return &reply{watch: newHelloWatch(n), out: kept{limit: limit}, err: kept{limit: limit}}
}

// newTailReply takes what a script prints after its END_REQUEST, and the reply to the request that waits behind it.
func newTailReply(n nonce, limit int) *reply {
	r := newReply(n, limit)
	r.greeted, r.inBody = true, true
	return r
}

// addStderr keeps p and returns the greeting when p completes it.
func (r *reply) addStderr(p []byte) (greeting, bool) {
	r.hear(p)
	if r.greeted {
		return greeting{}, false
	}
	hello, ok := r.watch.see(p)
	r.greeted = ok
	return hello, ok
}

func (r *reply) hear(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err.add(p)
	r.said.Store(true)
}

// takeStderr returns the end of what was said since it was last asked, and forgets it.
func (r *reply) takeStderr() []byte {
	if !r.said.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.err.last()
	r.err = kept{limit: r.err.limit}
	r.said.Store(false)
	return last
}

// addStdout reads headers, which may be spread over any number of records, and keeps the body.
func (r *reply) addStdout(p []byte) {
	for !r.inBody && len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		r.line = append(r.line, line[:min(len(line), headerLineKept-len(r.line))]...)
		if whole {
			r.endLine()
		}
		p = rest
	}
	if r.inBody {
		r.out.add(p)
	}
}

func (r *reply) endLine() {
	line := bytes.TrimRight(r.line, "\r")
	r.line = r.line[:0]
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch value = bytes.TrimSpace(value); {
	case len(line) == 0:
		r.inBody = true
	case bytes.EqualFold(name, []byte("Status")):
		code, _, _ := bytes.Cut(value, []byte(" "))
		r.status, _ = strconv.Atoi(string(code))
	}
}
