package queue

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress counts the texts that a Feeder got, and knows when the last one came. It takes no lock: the
// Feeder may be stuck with one.
type progress struct {
	born time.Time
	n    atomic.Int64
	last atomic.Int64 // nanoseconds from born
}

func newProgress() *progress { return &progress{born: time.Now()} }

// add counts n texts that came just now.
func (p *progress) add(n int) {
	if n == 0 {
		return
	}
	p.n.Add(int64(n))
	p.last.Store(int64(time.Since(p.born)))
}

func (p *progress) count() int64 { return p.n.Load() }

// String says how long ago the last text came.
func (p *progress) String() string {
	if p.count() == 0 {
		return "never"
	}
	return fmt.Sprintf("%s ago", (time.Since(p.born) - time.Duration(p.last.Load())).Round(time.Millisecond))
}
