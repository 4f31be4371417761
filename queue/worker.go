package queue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"sidecar/compat"
)

// worker runs jobs, each in a goroutine of its own while it runs, and settles them.
type worker struct {
	handler Handler
	gate    Gate
	brake   *brake
	solo    *solo
	rules   rules
	keeper  *Keeper
	settler *Settler
	clock   *serverClock
	metrics *topicMetrics
	log     *slog.Logger
	flight  *flight
	due     *dueTimes
	short   *cutShort
	next    chan *held // to a goroutine whose run has ended
	runs    sync.WaitGroup
}

// start begins the run of h, which is under way already. If it has not begun when take is done, it goes
// back; when work is done, the handler is told.
func (w *worker) start(take, work context.Context, h *held) {
	h.take = take.Done()
	select {
	case w.next <- h: // a goroutine that waits has a stack that is large enough by now
	default:
		w.runs.Go(func() {
			for ; h != nil; h = <-w.next {
				w.runOne(work, h)
				w.flight.leave()
			}
		})
	}
}

// finish says that no more runs will be started, and returns when the last has ended.
func (w *worker) finish() {
	close(w.next)
	w.runs.Wait()
}

func (w *worker) runOne(work context.Context, h *held) {
	if h.recalled() || !w.solo.enter(h.take, w.rules.lastChance(h.job)) {
		if h.recalled() {
			w.unrun(work, h, w.rules.giveBack(h))
			return
		}
		w.unrun(work, h, w.rules.putOff(h)) // another one runs alone
		return
	}
	claim := inHandOf{w.keeper, h}
	if claim.Lapsed() { // this process stood still, or Redis was away: others may have the job by now
		w.solo.leave()
		w.unrun(work, h, w.rules.giveBack(h))
		return
	}
	began := time.Now()
	outcome := w.handle(h.trace.Running(compat.WithClaim(work, claim)), h.job)
	h.trace.Ran(outcome)
	took := cmp.Or(outcome.Took, time.Since(began))
	w.solo.leave()
	w.gate.Release(1)

	w.observe(h, outcome, took)
	w.brake.saw(work, h.probe, h.job, outcome)
	w.short.saw(work, h.job, outcome.Verdict, took)
	if w.log.Enabled(work, slog.LevelDebug) { // else each job pays for arguments that nobody reads
		w.log.DebugContext(work, "run ended", "uuid", h.job.PlainUUID(), "outcome", outcome.Verdict.String(), "took", took)
	}
	w.settle(work, h, outcome)
}

// unrun settles a job whose run has not begun.
func (w *worker) unrun(ctx context.Context, h *held, one *settlement) {
	w.gate.Release(1)
	if h.probe != nil {
		w.brake.saw(ctx, h.probe, h.job, compat.Outcome{Verdict: compat.Unavailable})
	}
	w.settler.add(one)
}

// observe measures a run that has just ended and took so long. One that was claimed ahead may have waited for its
// worker after Handle was called, so its start is reckoned from its end.
func (w *worker) observe(h *held, o compat.Outcome, took time.Duration) {
	w.metrics.outcomes[o.Verdict].Inc()
	if o.Verdict == compat.Unavailable { // no run
		return
	}
	w.metrics.peaks.run.raise(took.Seconds()) // before: whoever counts the run is to know its peak
	w.metrics.duration.Observe(took.Seconds())
	if h.due.IsZero() { // Redis may have told of ready before it told the Scanner what it had promoted
		h.due = w.due.take(h.body)
	}
	if !h.due.IsZero() {
		late := max(w.clock.now().Sub(h.due)-took, 0).Seconds()
		w.metrics.peaks.late.raise(late)
		w.metrics.lateness.Observe(late)
	}
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
		h.trace.Settled(leftToLease)
		return
	}
	if one.action == Bury {
		w.log.WarnContext(ctx, "job goes to dead", "uuid", h.job.PlainUUID(), "outcome", o.Verdict.String(), "tries_before", h.job.Tries(), "crashes_before", h.job.Crashes())
	}
	w.settler.add(one)
}
