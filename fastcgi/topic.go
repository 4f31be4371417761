package fastcgi

import (
	"context"
	"log/slog"
	"slices"

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
		opts.Workers = p.opts.Children
	}
	t := &Topic{opts: opts, pool: p, log: p.log.With("topic", opts.Topic), gate: newGate()}
	p.mu.Lock()
	p.topics = append(p.topics, t)
	p.mu.Unlock()
	p.metrics.addTopic(opts.Topic)
	p.wakeProber()
	return t
}

// Remove takes the topic off its pool, which no longer looks after its gate. None of its jobs may be running.
func (t *Topic) Remove() {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.pool.topics = slices.DeleteFunc(t.pool.topics, func(have *Topic) bool { return have == t })
}

// Handle runs job and returns what it came to. It imposes the topic's timeout; when ctx is done, the script is
// stopped and the job Unavailable, or Held where it cannot be stopped.
func (t *Topic) Handle(ctx context.Context, job compat.Job) compat.Outcome {
	return t.Run(ctx, job).Outcome
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
	p.metrics.topicGate(t.opts.Topic, false)
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
	p.metrics.topicGate(t.opts.Topic, true)
	p.grant()
	p.mu.Unlock()
	if news {
		t.log.Info("the topic's jobs can start")
	}
}
