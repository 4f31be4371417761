package queue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"sidecar/compat"
)

// worker runs one job at a time and settles it.
type worker struct {
	handler Handler
	gate    Gate
	solo    *solo
	rules   rules
	keeper  *Keeper
	settler *Settler
	clock   *serverClock
	metrics *topicMetrics
	log     *slog.Logger
	idle    chan<- struct{} // one place a worker: never full
}

// run runs the jobs handed over until there are no more. Those not started when take is done go back;
// when work is done, the handler is told.
func (w *worker) run(take, work context.Context, handover <-chan *held) {
	for h := range handover {
		w.runOne(take, work, h)
		w.idle <- struct{}{}
	}
}

func (w *worker) runOne(take, work context.Context, h *held) {
	if take.Err() != nil || !w.solo.enter(take, w.rules.lastChance(h.job)) {
		w.gate.Release(1)
		w.settler.add(w.rules.giveBack(h))
		return
	}
	if !h.due.IsZero() {
		w.metrics.lateness.Observe(max(w.clock.now().Sub(h.due), 0).Seconds())
	}
	began := time.Now()
	outcome := w.handle(work, h.job)
	took := time.Since(began)
	w.solo.leave()
	w.gate.Release(1)

	w.metrics.outcomes[outcome.Verdict].Inc()
	w.metrics.duration.Observe(took.Seconds())
	w.log.DebugContext(work, "run ended", "uuid", h.job.PlainUUID(), "outcome", outcome.Verdict.String(), "took", took)
	w.settle(work, h, outcome)
}

// handle calls the handler. A panic in it is the job's crash, not ours.
func (w *worker) handle(ctx context.Context, job compat.Job) (o compat.Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			o = compat.Outcome{Verdict: compat.Crashed, Error: fmt.Sprintf("handler panicked: %v", fault), Trace: string(debug.Stack())}
		}
	}()
	return w.handler.Handle(ctx, job)
}

// settle hands the verdict to the Settler and does not wait for it.
func (w *worker) settle(ctx context.Context, h *held, o compat.Outcome) {
	one := w.rules.settle(h, o)
	if one == nil {
		w.log.WarnContext(ctx, "script may still be running, claim left to its lease", "uuid", h.job.PlainUUID())
		w.keeper.release(h)
		return
	}
	if one.action == Bury {
		w.log.WarnContext(ctx, "job goes to dead", "uuid", h.job.PlainUUID(), "outcome", o.Verdict.String(), "tries_before", h.job.Tries(), "crashes_before", h.job.Crashes())
	}
	w.settler.add(one)
}
