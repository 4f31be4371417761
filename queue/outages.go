package queue

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Outages tells in the log of what keeps one Redis from serving, for all consumers on it: each kind of fault
// when the first of their steps meets it, and the end when all are over it. A Redis that is away costs a few
// lines, whether it has one topic or five hundred.
type Outages struct {
	log   *slog.Logger
	quiet time.Duration // for which no step may fail until it is the end; shorter in tests

	calm atomic.Bool // an outage is on, and no step fails at present

	mu       sync.Mutex // guards what follows
	failing  map[*trouble]struct{}
	told     map[Fault]bool  // in the outage that is on
	topics   map[string]bool // that it has met
	failures int
	began    time.Time
	calmed   time.Time // when the last step was over it
}

// outageQuiet joins the cuts of single connections, which the steps meet one after the other, to one outage.
const outageQuiet = time.Second

// NewOutages returns the Outages of one Redis.
func NewOutages(log *slog.Logger) *Outages {
	return &Outages{
		log: log, quiet: outageQuiet,
		failing: make(map[*trouble]struct{}), told: make(map[Fault]bool), topics: make(map[string]bool),
	}
}

// fails notes that a step has met err.
func (o *Outages) fails(ctx context.Context, t *trouble, fault Fault, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.told) == 0 {
		o.began = time.Now()
	}
	o.failing[t] = struct{}{}
	o.topics[t.topic] = true
	o.failures++
	o.calm.Store(false)
	if !o.told[fault] {
		o.told[fault] = true
		o.log.WarnContext(ctx, "redis refuses", "fault", fault.String(), "error", err)
	}
}

// leaves notes that a step which has failed is over it.
func (o *Outages) leaves(t *trouble) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, failing := o.failing[t]; !failing {
		return
	}
	delete(o.failing, t)
	if len(o.failing) == 0 {
		o.calmed = time.Now()
		o.calm.Store(true)
	}
}

// works notes that a step, any of them, has been answered as it should be.
func (o *Outages) works(ctx context.Context) {
	if !o.calm.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.calm.Load() || time.Since(o.calmed) < o.quiet {
		return
	}
	o.log.InfoContext(ctx, "redis works again", "after", o.calmed.Sub(o.began).Round(time.Millisecond), "topics", len(o.topics), "failures", o.failures)
	clear(o.told)
	clear(o.topics)
	o.failures = 0
	o.calm.Store(false)
}
