package fastcgi

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sidecar/compat"
)

const (
	// quickRun is the mean run below which several jobs may lie in a worker's socket: a slow one would hold up
	// what lies behind it. Below tinyRun a job costs less than the frame's way, and there may be twice as many.
	quickRun      = time.Millisecond
	quickInSocket = 4
	tinyRun       = 50 * time.Microsecond
	aheadInSocket = 8 // at most
	// aheadBytes bounds them, so that neither side ever waits with a full socket for the other.
	aheadBytes = 64 << 10

	// measuredRuns is how many of the last runs make the mean. The first of a worker is slow.
	measuredRuns = 32

	// quietRuns is how many runs must say nothing on stderr before there is anything ahead again.
	quietRuns = 1000

	// patience is how long a job may wait for a worker that is free.
	patience = 100 * time.Millisecond
)

// crew are the resident workers of one topic, and the jobs that wait for them.
type crew struct {
	topic   *Topic
	log     *slog.Logger
	metrics topicWorkerMetrics
	workers int  // at most
	single  bool // for one run by hand: it takes no slot and asks no gate
	code    *codeWatch
	errands errands
	nudges  chan struct{} // tells run that there is something to arrange
	tight   sync.Once     // on a max_memory that is
	noisy   atomic.Int32  // runs until what was last heard on stderr is forgotten; written with mu held

	mu        sync.Mutex
	pending   errandQueue
	residents []*resident
	advised   []bool // the routes whose script is known not to be included twice, by their numbers
	pace      pace   // of all runs
	paces     []pace // of each route's; nil where there is but one
	drained   bool
	epoch     int       // of the code; workers of an older one leave
	outdated  reason    // why the last epoch ended
	wakes     time.Time // when run looks again, at the latest
	faults    int       // starts that failed since one went well
	notBefore time.Time // the next start
	slots     *waiter   // asked for, not given yet
	starved   bool      // jobs went back because there was no worker at all: one is wanted before any is claimed
	taken     int       // permits
	takers    []*taker
}

func newCrew(t *Topic, workers int) *crew {
	c := &crew{
		topic: t, log: t.log, workers: workers, metrics: t.pool.metrics.resident.of(t.opts.Topic),
		code: newCodeWatch(t.pool.opts.Chroot, t.files), nudges: make(chan struct{}, 1),
		advised: make([]bool, len(t.routes.list)),
	}
	if len(t.routes.list) > 1 {
		c.paces = make([]pace, len(t.routes.list))
	}
	return c
}

// handle has job run by a worker and returns what it came to.
func (c *crew) handle(ctx context.Context, job compat.Job, result *Result) compat.Outcome {
	to, err := c.topic.routes.of(job)
	if err != nil {
		return rejected(err)
	}
	if most := c.maxText(); len(job.Raw()) > most {
		return compat.Outcome{Verdict: compat.Failed, Error: fmt.Sprintf("the job's text has %d bytes, more than mode = \"worker\" takes (%d): use mode = \"request\"", len(job.Raw()), most)}
	}
	e := c.errands.get(job, to, result)
	e.claim, e.trace = compat.ClaimOf(ctx), compat.TraceContextOf(ctx)
	if ctx.Err() != nil {
		return unavailable(stoppedUnstarted)
	}
	if len(job.Raw()) > aheadBytes { // the write may have to wait for a worker that hangs
		defer context.AfterFunc(ctx, func() { c.withdraw(e) })()
	}
	c.submit(e)
	select {
	case o := <-e.outcome:
		return c.finished(e, o)
	case <-ctx.Done():
		c.withdraw(e)
		return c.finished(e, <-e.outcome)
	}
}

// maxText is how many bytes the text of a job may have.
func (c *crew) maxText() int {
	if c.topic.routes.byJob() {
		return frameLimit - jobOverhead - targetOverhead
	}
	return frameLimit - jobOverhead
}

func (c *crew) finished(e *errand, o compat.Outcome) compat.Outcome {
	if len(e.job.Raw()) <= aheadBytes { // else withdraw may still look at it
		c.errands.put(e)
	}
	return o
}

// stoppedUnstarted is why a job comes back that no worker has begun.
const stoppedUnstarted = "the sidecar stopped before the script started"

// lapsedUnstarted is why a job comes back that others may have by now, or that is to go back.
const lapsedUnstarted = "its claim went back before the script started"

// submit gives e to a worker, or lets it wait for one.
func (c *crew) submit(e *errand) {
	c.watchCode(e.asked)
	c.mu.Lock()
	if c.drained {
		e.end(unavailable(stoppedUnstarted))
		c.mu.Unlock()
		return
	}
	c.pending.push(e)
	r := c.dispatch(e.asked)
	if c.pending.len() > 0 {
		c.wakeBy(e.asked.Add(patience))
		if c.slots == nil && len(c.residents) < c.workers {
			c.nudge()
		}
	}
	c.mu.Unlock()
	flushAll(r)
}

// dispatch gives waiting jobs to workers that have room, and returns the first of those whose frames are to be
// written now, linked to the others. mu is held.
func (c *crew) dispatch(now time.Time) (first *resident) {
	for c.pending.len() > 0 {
		if c.pending.first().lapsed() {
			c.pending.pop().end(unavailable(lapsedUnstarted))
			continue
		}
		r := c.pick(c.pending.first())
		if r == nil {
			break
		}
		r.give(c.pending.pop(), now)
		if !r.writing {
			r.writing, r.nextToFlush, first = true, first, r
		}
	}
	return first
}

// pick returns the worker that e goes to: one that is idle, and of those the last to have been busy, so that the
// others may leave; or the one that has least ahead. mu is held.
func (c *crew) pick(e *errand) *resident {
	var best *resident
	for _, r := range c.residents {
		switch {
		case !r.takes(e):
		case best == nil, len(r.inHand) < len(best.inHand),
			len(r.inHand) == 0 && len(best.inHand) == 0 && r.since.After(best.since):
			best = r
		}
	}
	return best
}

// inSocket is how many jobs a worker may have that has one of that route, itself included: the others lie behind it.
// What comes on stderr names no job: where it matters whose it is, the next job begins when it has been read. mu is held.
func (c *crew) inSocket(to *route) int {
	switch mean := c.paceOf(to).mean; {
	case mean == 0 || mean >= quickRun:
		return 1
	case c.topic.opts.LogStderr, c.noisy.Load() > 0:
		return 1
	case mean >= tinyRun:
		return quickInSocket
	}
	return aheadInSocket
}

// measure notes how long a run of that route took. mu is held.
func (c *crew) measure(to *route, took time.Duration) {
	c.noisy.Store(max(c.noisy.Load()-1, 0))
	c.pace.add(took)
	if c.paces != nil {
		c.paces[to.number].add(took)
	}
}

// paceOf is how long runs of that route take. mu is held.
func (c *crew) paceOf(to *route) *pace {
	if c.paces == nil {
		return &c.pace
	}
	return &c.paces[to.number]
}

// pace is how long the last runs took.
type pace struct {
	mean time.Duration // more or less; 0 until one was seen
	runs int           // that make it
}

func (p *pace) add(took time.Duration) {
	p.runs = min(p.runs+1, measuredRuns)
	p.mean = max(p.mean+(took-p.mean)/time.Duration(p.runs), 1)
}

// withdraw takes back a job whose context is done: it never starts, or its worker is stopped.
func (c *crew) withdraw(e *errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.withdrawn = true
	switch {
	case c.pending.remove(e):
		e.end(unavailable(stoppedUnstarted))
	case e.by != nil && slices.Contains(e.by.inHand, e):
		e.by.halt(byStop)
	}
}

// drain makes every job come back that no worker has, now and from here on, and the workers leave between two jobs.
func (c *crew) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = true
	c.giveBack(stoppedUnstarted)
	c.nudge()
}

// recall makes the jobs come back that no worker has, and that are to go back.
func (c *crew) recall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.pending.len() > 0 && c.pending.first().lapsed() {
		c.pending.pop().end(unavailable(lapsedUnstarted))
	}
}

// giveBack ends all that wait. mu is held.
func (c *crew) giveBack(why string) {
	for _, e := range c.pending.all() {
		e.end(unavailable(why))
	}
}

// renew makes every worker of now leave between two jobs.
func (c *crew) renew(why reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.outdated = why
	c.nudge()
}

// watchCode looks for a deploy if it is time to.
func (c *crew) watchCode(now time.Time) {
	if !c.code.due(now) {
		return
	}
	seen, ok := c.code.look()
	if !ok {
		return
	}
	c.mu.Lock()
	changed := c.code.last != "" && c.code.last != seen
	c.code.last = seen
	c.mu.Unlock()
	if changed {
		c.log.Info("the code has changed, workers are renewed")
		c.renew(byCode)
	}
}

// nudge makes run look at once.
func (c *crew) nudge() {
	select {
	case c.nudges <- struct{}{}:
	default: // it has been told
	}
}

// wakeBy makes sure that run looks at that time at the latest. mu is held.
func (c *crew) wakeBy(at time.Time) {
	if c.wakes.IsZero() || at.Before(c.wakes) {
		c.wakes = at
		c.nudge()
	}
}
