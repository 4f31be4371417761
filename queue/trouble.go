package queue

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// trouble follows the errors of one step: it counts them all and logs the first of a run, each change
// of their kind, and the end. A Redis that is away for an hour costs two lines a step, not a flood.
type trouble struct {
	step   string // what could not be done: promote, claim, …
	log    *slog.Logger
	errors *prometheus.CounterVec // fault

	mu       sync.Mutex // guards what follows
	fault    Fault
	failures int
	err      error
}

func newTrouble(step string, metrics *topicMetrics, log *slog.Logger) *trouble {
	return &trouble{step: step, errors: metrics.errors, log: log.With("step", step)}
}

// note takes the result of one try; nil ends a run of errors. What fails after ctx has ended was cut
// short by us and says nothing about Redis.
func (t *trouble) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		if t.err != nil {
			t.log.InfoContext(ctx, "redis works again", "failures", t.failures)
		}
		t.fault, t.failures, t.err = 0, 0, nil
		return
	}
	fault := FaultOf(err)
	t.errors.WithLabelValues(fault.String()).Inc()
	if t.err == nil || fault != t.fault {
		t.log.WarnContext(ctx, "redis refuses", "fault", fault.String(), "error", err, "failures", t.failures)
	}
	t.fault, t.err = fault, err
	t.failures++
}

// current returns the error of the run that is on, or nil.
func (t *trouble) current() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
