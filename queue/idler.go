package queue

import (
	"net"
	"sync"
	"time"
)

// idler closes a connection once nobody has used it for long. The client library looks at a connection's idle time when
// it is about to use it, and it takes those first that were used last: what it opened in an outage, when every
// call waits, would stay open for ever.
type idler struct {
	mu     sync.Mutex // guards what follows
	timer  *time.Timer
	used   time.Time
	closed bool
}

// use notes that conn is in use now, and has it closed when that was the last time for as long as limit.
func (i *idler) use(limit time.Duration, conn net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.used = time.Now()
	if i.timer == nil && !i.closed {
		i.timer = time.AfterFunc(limit, func() { i.look(limit, conn) })
	}
}

// look closes conn, or comes again when its time may be over.
func (i *idler) look(limit time.Duration, conn net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return
	}
	if left := limit - time.Since(i.used); left > 0 {
		i.timer.Reset(left)
		return
	}
	_ = conn.Close() // the library, for which it has been idle for too long as well, finds out before it writes
}

// stop ends the watch.
func (i *idler) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.timer != nil {
		i.timer.Stop()
	}
}
