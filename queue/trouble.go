package queue

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// trouble follows the errors of one topic's step and counts them all. What is the whole server's fault goes to Outages.
// What is the fault of this topic's keys is logged here: the first of a run, each change of their kind, and the end.
type trouble struct {
	topic   string
	log     *slog.Logger
	errors  *prometheus.CounterVec // fault
	outages *Outages

	mu       sync.Mutex // guards what follows
	fault    Fault
	failures int
	err      error
}

// troubles are those of all steps of a topic.
type troubles struct {
	topic   string
	metrics *topicMetrics
	outages *Outages
	log     *slog.Logger
	all     []*trouble
}

// of makes the trouble of a step, such as promote or claim.
func (ts *troubles) of(step string) *trouble {
	t := &trouble{topic: ts.topic, errors: ts.metrics.errors, outages: ts.outages, log: ts.log.With("step", step)}
	ts.all = append(ts.all, t)
	return t
}

// drop ends the runs of errors of a topic that is not consumed any more.
func (ts *troubles) drop(ctx context.Context) {
	for _, t := range ts.all {
		t.drop(ctx)
	}
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
		t.endLocked(ctx)
		t.outages.works(ctx)
		return
	}
	fault := FaultOf(err)
	t.errors.WithLabelValues(fault.String()).Inc()
	if fault.OfServer() {
		if t.err == nil {
			t.log.DebugContext(ctx, "step fails", "fault", fault.String(), "error", err)
		}
		t.outages.fails(ctx, t, fault, err)
	} else if fault != t.fault {
		t.log.WarnContext(ctx, "redis refuses", "fault", fault.String(), "error", err, "failures", t.failures)
		t.outages.leaves(t)
	}
	t.fault, t.err = fault, err
	t.failures++
}

// drop ends a run of errors that nothing will end, as nothing is left to be done.
func (t *trouble) drop(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(ctx)
}

func (t *trouble) endLocked(ctx context.Context) {
	switch {
	case t.err == nil:
		return
	case t.fault.OfServer():
		t.outages.leaves(t)
	default:
		t.log.InfoContext(ctx, "redis works again", "failures", t.failures)
	}
	t.fault, t.failures, t.err = 0, 0, nil
}

// current returns the error of the run that is on, or nil.
func (t *trouble) current() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
