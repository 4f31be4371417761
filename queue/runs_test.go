package queue_test

import (
	"context"
	"sync"

	"sidecar/compat"
)

// runs records what a handler was called with.
type runs struct {
	mu     sync.Mutex
	texts  []string
	byUUID map[string]int
	now    map[string]int // running at the moment, by text
	clash  bool           // one text ran twice at a time
}

func newRuns() *runs { return &runs{byUUID: map[string]int{}, now: map[string]int{}} }

// begin notes the start of a run; the function it returns notes its end.
func (r *runs) begin(job compat.Job) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, job.Raw())
	r.byUUID[job.UUID()]++
	r.now[job.Raw()]++
	r.clash = r.clash || r.now[job.Raw()] > 1
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now[job.Raw()]--
	}
}

func (r *runs) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.texts)
}

func (r *runs) of(uuid string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byUUID[uuid]
}

func (r *runs) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.texts...)
}

// handler records its runs and lets each end with the outcome.
func (r *runs) handler(o compat.Outcome) func(context.Context, compat.Job) compat.Outcome {
	return func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		return o
	}
}
