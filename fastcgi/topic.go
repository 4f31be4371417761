package fastcgi

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sidecar/compat"
)

// Topic runs the jobs of one topic on its pool. It is the queue's handler and gate.
type Topic struct {
	opts TopicOptions
	pool *Pool
	log  *slog.Logger

	used int  // slots in use; guarded by Pool.mu
	gate gate // guarded by Pool.mu
}

// NewTopic adds a topic to the pool. Its gate is shut until [Pool.Run] has seen its files. Workers = 0 stands for the pool's children.
func (p *Pool) NewTopic(opts TopicOptions) *Topic {
	if opts.Workers == 0 {
		opts.Workers = p.slots()
	}
	t := &Topic{opts: opts, pool: p, log: p.log.With("topic", opts.Topic), gate: newGate()}
	p.mu.Lock()
	p.topics = append(p.topics, t)
	p.mu.Unlock()
	p.metrics.addTopic(t)
	p.wakeProber()
	return t
}

// Remove takes the topic off its pool, which no longer looks after its gate. None of its jobs may be running.
func (t *Topic) Remove() {
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
// stopped and the job Unavailable, or Held where it cannot be stopped.
func (t *Topic) Handle(ctx context.Context, job compat.Job) compat.Outcome {
	return t.Run(ctx, job).Outcome
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

// Health returns why no job of the topic may start although the pool is up, nil if they may.
func (t *Topic) Health() error {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.gate.reason
}

func (t *Topic) shut(reason error) {
	p := t.pool
	p.mu.Lock()
	news := t.gate.shut(reason)
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
	if news {
		t.log.Info("the topic's jobs can start")
	}
}
