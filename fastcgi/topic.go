package fastcgi

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"sidecar/compat"
)

// Topic runs the jobs of one topic on its pool. It is the queue's handler and gate.
type Topic struct {
	opts   TopicOptions
	routes routes
	files  []string // all of its code, as far as it is named
	pool   *Pool
	log    *slog.Logger

	crew  *crew         // of mode worker, else nil
	spare atomic.Int32  // workers that have had nothing to do for a while
	again chan struct{} // asks for a look at a gate that is shut

	// Guarded by Pool.mu.
	used     int // slots in use
	gate     gate
	granted  time.Time // the last slot
	without  time.Time // since when it waits and has no slot at all; else zero
	turn     time.Time // until when it keeps one, however small its share
	crewRuns bool
	giveUp   int // slots that its crew has been asked to give up, and has not yet
}

// NewTopic adds a topic to the pool. Its gate is shut until [Pool.Run] has seen its files. Workers = 0 stands for the pool's children.
func (p *Pool) NewTopic(opts TopicOptions) *Topic {
	if opts.Workers == 0 {
		opts.Workers = p.slots()
	}
	t := &Topic{opts: opts, routes: newRoutes(opts), pool: p, log: p.log.With("topic", opts.Topic), gate: newGate(), again: make(chan struct{}, 1)}
	t.files = t.routes.scripts()
	if opts.Bootstrap != "" {
		t.files = append(t.files, opts.Bootstrap)
	}
	if opts.Mode == ModeWorker {
		t.crew = newCrew(t, opts.Workers)
	}
	p.mu.Lock()
	p.topics = append(p.topics, t)
	p.mu.Unlock()
	p.metrics.addTopic(t)
	p.wakeProber()
	select {
	case p.hire <- struct{}{}:
	default: // it has been told
	}
	return t
}

// Remove takes the topic off its pool, which no longer looks after its gate. None of its jobs may be running.
func (t *Topic) Remove() {
	t.Drain()
	t.pool.mu.Lock()
	t.pool.topics = slices.DeleteFunc(t.pool.topics, func(have *Topic) bool { return have == t })
	t.pool.mu.Unlock()
	t.pool.metrics.removeTopic(t)
}

// listed reports that the topic has not been removed.
func (t *Topic) listed() bool {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return slices.Contains(t.pool.topics, t)
}

// report sets the topic's gauge.
func (t *Topic) report() {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.pool.metrics.topicGate(t, t.gate.open())
}

// Handle runs job and returns what it came to. It imposes the topic's timeout; when ctx is done, the script is
// stopped and the job Unavailable, or Held where it cannot be stopped. A job that no route is for is Rejected, and
// nothing is asked of FPM.
//
// In mode worker it waits for a worker first. A job that none has begun comes back as Unavailable when ctx is done,
// when the topic is drained, or when the workers are busy with others for long.
func (t *Topic) Handle(ctx context.Context, job compat.Job) compat.Outcome {
	if t.crew != nil {
		return t.crew.handle(ctx, job, nil)
	}
	return t.Run(ctx, job).Outcome
}

// Drain says that nothing new is to start: jobs that no resident worker has begun come back as Unavailable, now and from
// here on, and the workers leave after what they have in hand. There is no way back.
func (t *Topic) Drain() {
	if t.crew != nil {
		t.crew.drain()
	}
}

// Recall has the jobs come back as Unavailable that no resident worker has begun and whose claims are to go back.
func (t *Topic) Recall() {
	if t.crew != nil {
		t.crew.recall()
	}
}

// Renew replaces every resident worker between two of its jobs, and has a gate that is shut looked at now: the code
// may have changed in a way that nobody sees.
func (t *Topic) Renew() {
	t.recheck()
	if t.crew != nil {
		t.crew.renew(byRenewal)
	}
}

// Acquire waits until pool and topic are open and a job may start, and takes between 1 and most permissions. In mode
// request those are slots; in mode worker the workers hold the slots, and what is taken are claims ahead of them.
// It returns 0 only when ctx is done.
func (t *Topic) Acquire(ctx context.Context, most int) int {
	if t.crew != nil {
		return t.crew.acquire(ctx, most)
	}
	return t.acquireSlots(ctx, most)
}

// Release gives n permissions back.
func (t *Topic) Release(n int) {
	if t.crew != nil {
		t.crew.release(n)
		return
	}
	t.releaseSlots(n)
}

// Try is Run for somebody who waits for the answer: it gives up when no child takes the job. It needs [Pool.Run] no
// more than Run does.
func (t *Topic) Try(ctx context.Context, job compat.Job) Result {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timer := time.AfterFunc(t.pool.patience, func() {
		if t.pool.awaited() {
			giveUp()
		}
	})
	defer timer.Stop()
	return t.Run(ctx, job)
}

// Health returns what is wrong with the topic itself, nil if nothing is or if the pool, being away, cannot tell.
func (t *Topic) Health() error {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	if !t.pool.gate.open() && errors.Is(t.gate.reason, ErrNotSeen) {
		return nil
	}
	return t.gate.reason
}

// ShutReason returns why no job may start, of the pool or of the topic, nil if they may.
func (t *Topic) ShutReason() error {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gate.open() {
		return p.gate.reason
	}
	return t.gate.reason
}

func (t *Topic) shut(reason error) { t.shutFor(reason, nil) }

func (t *Topic) shutFor(reason error, d *doubt) {
	p := t.pool
	p.mu.Lock()
	news := t.gate.shut(reason)
	t.gate.doubt = d
	p.metrics.topicGate(t, false)
	p.mu.Unlock()
	if news {
		t.log.Warn("the topic's jobs cannot start", "reason", reason)
	}
	p.wakeProber()
}

func (t *Topic) open() {
	p := t.pool
	p.mu.Lock()
	news := t.gate.unshut()
	p.metrics.topicGate(t, true)
	p.grant()
	p.mu.Unlock()
	t.nudge()
	if news {
		t.log.Info("the topic's jobs can start")
	}
}

// nudge has the crew, if there is one, look what has become possible.
func (t *Topic) nudge() {
	if t.crew != nil {
		t.crew.nudge()
	}
}
