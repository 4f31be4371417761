package fastcgi

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidecar/compat"
)

// bury takes a worker that is gone off the crew, judges the job it had in hand and lets others have the rest.
func (c *crew) bury(r *resident, now time.Time) {
	r.writes.Lock() // whoever writes notices its end first
	c.mu.Lock()
	c.residents = slices.DeleteFunc(c.residents, func(other *resident) bool { return other == r })
	inHand, served := r.inHand, r.ready
	r.inHand, r.unsent = nil, nil
	why := r.leaving
	switch {
	case !served && why != byStop:
		why = byBootstrap
	case why == "":
		why = byDeath
	}
	var waiting []*errand
	failed := !served && r.life.ending != withdrawn && !r.life.going
	if failed { // all now, or another worker starts at once for the same job
		c.faults++
		c.notBefore = time.Now().Add(backoff(c.faults, startBackoff))
		waiting = c.pending.all()
	}
	c.mu.Unlock()
	r.writes.Unlock()
	c.metrics.ended(why, r.served, r.memory-r.grewFrom)
	c.log.Debug("worker ended", "pid", r.life.call.PID, "reason", string(why), "jobs", r.served)

	if served {
		c.shareOut(r, inHand, now)
	} else if failed {
		c.startFailed(r, waiting)
	}
	if !c.single {
		c.topic.releaseSlots(1)
	}
	c.nudge()
}

// shareOut ends the job that a worker had in hand, and gives those to others that it has not begun.
func (c *crew) shareOut(r *resident, inHand []*errand, now time.Time) {
	if len(inHand) == 0 {
		return
	}
	if r.mayGoOn() { // it may read and run what lies in its socket: nobody else must
		for i, e := range inHand {
			o := compat.Outcome{Verdict: compat.Unavailable, Error: "a worker that could not be stopped may still run it", Held: true}
			if i == 0 {
				o = c.blame(r, e, now)
			}
			e.end(o)
		}
		return
	}
	if r.began(inHand) {
		inHand[0].end(c.blame(r, inHand[0], now))
		inHand = inHand[1:]
	}
	c.putBack(inHand, now)
}

// mayGoOn reports that the worker's end was not seen.
func (r *resident) mayGoOn() bool {
	switch r.life.ending { //nolint:exhaustive // the others are ends
	case held, abandoned:
		return true
	}
	return false
}

// began reports that the first of its jobs may have started. One that was not sent has not; nor one that the
// worker has not read, which is certain where it is the only one.
func (r *resident) began(inHand []*errand) bool {
	switch l := &r.life; {
	case l.bye.Load(), inHand[0].unsent:
		return false
	case len(inHand) == 1 && l.unread():
		return false
	}
	return true
}

// blame says what the job came to whose worker ended with it in hand.
func (c *crew) blame(r *resident, e *errand, now time.Time) compat.Outcome {
	l, t := &r.life, c.topic
	f := facts{
		ending: l.ending, cause: l.cause, started: true, written: true,
		late: r.late, stopped: l.stopped, going: l.going, elapsed: now.Sub(r.since), timeout: e.route.timeout,
		stderr: l.reply.takeStderr(),
	}
	if l.readErr != nil && errors.Is(l.readErr, errFrame) {
		f.ending, f.cause = garbled, l.readErr
	}
	outcome, whose := judge(f)
	outcome.Took = f.elapsed
	t.concluded(e.job, e.route, &outcome, whose, f)
	if e.result != nil {
		*e.result = Result{Stderr: f.stderr, Elapsed: f.elapsed}
		l.describe(e.result)
	}
	return outcome
}

// putBack lets jobs that no worker has begun wait again, ahead of all others.
func (c *crew) putBack(list []*errand, now time.Time) {
	c.mu.Lock()
	wait := list[:0:0]
	for _, e := range list {
		if c.drained || e.withdrawn {
			e.end(unavailable(stoppedUnstarted))
			continue
		}
		e.by, e.asked = nil, now
		wait = append(wait, e)
	}
	c.pending.putBack(wait)
	first := c.dispatch(now)
	c.mu.Unlock()
	flushAll(first)
}

// startFailed has the first of those that waited for a worker bear what became of its start, where that is the job's own
// code's doing, and gives all back where no job could start.
func (c *crew) startFailed(r *resident, waiting []*errand) {
	outcome, whose, f := r.judgeStart()
	t := c.topic
	if whose != nobody || len(waiting) == 0 {
		t.concluded(compat.Job{}, nil, &outcome, whose, f) // first: whoever gets a job back is to find the gate shut
	}
	if whose != nobody {
		for _, e := range waiting {
			e.end(unavailable(outcome.Error))
		}
		return
	}
	c.log.Warn("a worker's bootstrap failed", "error", outcome.Error)
	if len(waiting) == 0 {
		return
	}
	bearer := waiting[0]
	c.putBack(waiting[1:], time.Now())
	t.concluded(bearer.job, nil, &outcome, whose, f)
	if bearer.result != nil {
		*bearer.result = Result{Stderr: f.stderr}
		r.life.describe(bearer.result)
	}
	bearer.end(outcome)
}

// judgeStart says what became of a worker that never came to serve.
func (r *resident) judgeStart() (compat.Outcome, scope, facts) {
	l := &r.life
	f := facts{
		ending: l.ending, cause: l.cause, late: r.late, stopped: l.stopped, started: r.late, timeout: r.crew.topic.opts.Timeout,
		sign: l.bootFault, status: l.reply.status, output: l.reply.out.head, stderr: l.reply.takeStderr(),
	}
	if s, _, _, ok := r.token.find(l.reply.out.last()); ok && f.sign == nil && !l.greeted { // once greeted it speaks in frames
		f.sign = &s
	}
	if f.sign != nil {
		f.ending = answered
	}
	outcome, whose := judge(f)
	return outcome, whose, f
}

// runOnce runs job on a worker of its own, for a person who wants to see all of it.
func (t *Topic) runOnce(ctx context.Context, job compat.Job) Result {
	c := newCrew(t, 1)
	c.single = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(context.WithoutCancel(ctx))
	}()
	var result Result
	outcome := c.handle(ctx, job, &result)
	c.drain()
	<-done
	result.Outcome = outcome
	return result
}
