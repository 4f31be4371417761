package fastcgi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sidecar/compat"
)

// fpmPause is how long FPM's children may take to end that have nothing to do.
const fpmPause = 100 * time.Millisecond

// conclusion is a job's end, as the worker said and we judged.
type conclusion struct {
	id      uint32
	outcome compat.Outcome
	memory  int64
}

// read takes frames until the connection ends, and says how it did.
func (r *resident) read(ctx context.Context, in *frameReader) error {
	var done []conclusion // read, and not settled yet
	for {
		f, err := in.next()
		if err == nil && f.kind == verdictFrame {
			done, err = r.readVerdict(ctx, f, done)
		} else if err == nil {
			err = errors.Join(r.settle(done), r.readOther(ctx, f))
			done = done[:0]
		}
		if len(done) > 0 && (err != nil || !in.more()) {
			err = errors.Join(r.settle(done), err)
			done = done[:0]
		}
		if err != nil {
			return err
		}
	}
}

// readVerdict adds the usual verdict to done, and settles any other at once.
func (r *resident) readVerdict(ctx context.Context, f frame, done []conclusion) ([]conclusion, error) {
	id, text, err := f.job()
	if err != nil {
		return done, err
	}
	a, err := parseAnswer(text)
	if err != nil {
		return done, err
	}
	t := r.crew.topic
	if a.Verdict == "done" && t.opts.SuccessBody == nil && !t.opts.LogStderr && !r.crew.single {
		return append(done, conclusion{id, compat.Outcome{Verdict: compat.Done, Took: a.took()}, a.Memory}), nil
	}
	err = r.settle(done)
	if err == nil {
		err = r.settleSlowly(ctx, id, a)
	}
	return done[:0], err
}

func (r *resident) readOther(ctx context.Context, f frame) error {
	switch f.kind { //nolint:exhaustive // the others go the other way, or are read elsewhere
	case readyFrame:
		return r.serves(ctx, f.body)
	case deadFrame:
		return r.dies(ctx, f)
	case byeFrame:
		return r.leaves(f.body)
	case pongFrame:
		r.ponged()
		return nil
	}
	return fmt.Errorf("%w: frame %q", errFrame, byte(f.kind))
}

// settle ends the first jobs in hand, gives out others, and only then wakes those who wait for the outcomes.
func (r *resident) settle(list []conclusion) error {
	if len(list) == 0 {
		return nil
	}
	c, now := r.crew, time.Now()
	said := r.forgetStderr()
	c.watchCode(now)
	c.mu.Lock()
	if said {
		c.noisy.Store(quietRuns)
	}
	var room [2 * aheadInSocket]*errand
	ended := room[:0]
	news := r.served == 0
	var err error
	for _, a := range list {
		e, fault := r.takeOut(a.id)
		if fault != nil {
			err = fault
			break
		}
		r.memory = a.memory
		c.measure(a.outcome.Took)
		if e.alone {
			c.metrics.answered(now.Sub(e.sent), a.outcome.Took)
		}
		ended = append(ended, e)
	}
	r.since, r.heard = now, now
	first := c.dispatch(now)
	if len(r.inHand) == 0 {
		r.restedAt(now)
	}
	c.mu.Unlock()
	for f := first; f != nil; f = f.flush() {
	}
	for i, e := range ended {
		e.end(list[i].outcome)
	}
	if news {
		c.topic.pool.proven(c.topic)
	}
	return err
}

// takeOut takes the first job in hand out, which must be the one that was answered. crew.mu is held.
func (r *resident) takeOut(id uint32) (*errand, error) {
	if len(r.inHand) == 0 || r.inHand[0].id != id {
		return nil, fmt.Errorf("%w: a verdict on job %d, which is not the one in hand", errFrame, id)
	}
	e := r.inHand[0]
	r.inHand = append(r.inHand[:0], r.inHand[1:]...)
	r.ahead -= len(e.job.Raw())
	r.served++
	return e, nil
}

// restedAt has the crew look at a worker that has nothing to do: now, if it is to leave. crew.mu is held.
func (r *resident) restedAt(now time.Time) {
	r.outdate(now)
	if r.leaving != "" {
		r.crew.nudge()
		return
	}
	r.crew.wakeBy(now.Add(patience))
}

// settleSlowly judges an answer with all that belongs to it: output, stderr, the topic's rules.
func (r *resident) settleSlowly(ctx context.Context, id uint32, a answer) error {
	c := r.crew
	c.mu.Lock()
	var e *errand
	if len(r.inHand) > 0 && r.inHand[0].id == id {
		e = r.inHand[0]
	}
	c.mu.Unlock()
	if e == nil {
		return fmt.Errorf("%w: a verdict on job %d, which is not the one in hand", errFrame, id)
	}
	outcome := r.judge(ctx, e, a)
	return r.settle([]conclusion{{id, outcome, a.Memory}})
}

// judge says what e came to, and tells gates and log.
func (r *resident) judge(ctx context.Context, e *errand, a answer) compat.Outcome {
	t := r.crew.topic
	output, size := a.output()
	f := facts{
		ending: answered, started: true, timeout: t.opts.Timeout, success: t.opts.SuccessBody,
		sign: &a.sign, output: output, stderr: r.life.hearOut(ctx),
	}
	outcome, whose := judge(f)
	outcome.Took = a.took()
	t.concluded(e.job, &outcome, whose, f)
	if e.result != nil {
		*e.result = Result{
			Started: true, Output: cut(output, t.opts.OutputLimit, size), Stderr: f.stderr,
			Elapsed: outcome.Took, Memory: a.Memory,
		}
		r.life.describe(e.result)
	}
	return outcome
}

// dies notes the last words of a worker: the verdict on the job in hand, or on the bootstrap.
func (r *resident) dies(ctx context.Context, f frame) error {
	id, text, err := f.job()
	if err != nil {
		return err
	}
	a, err := parseAnswer(text)
	if err != nil {
		return err
	}
	r.life.bye.Store(true)
	r.goes(byDeath)
	if id == 0 {
		if r.ready { // no job's fault for certain: a destructor that ran when garbage was collected, most likely
			r.crew.log.WarnContext(ctx, "a worker died between two jobs", "pid", r.life.call.PID, "error", a.sign.Error)
		}
		r.life.bootFault = &a.sign
		return nil
	}
	return r.settleSlowly(ctx, id, a)
}

// goes notes that the worker ends by itself: it gets no more jobs.
func (r *resident) goes(why reason) {
	c := r.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.leaving == "" {
		r.leaving = why
	}
	r.told = time.Now()
	c.nudge()
}

// leaves notes the worker's bye: what it has not answered it has not begun.
func (r *resident) leaves(body []byte) error {
	var bye struct {
		Why string `json:"why"`
	}
	if err := json.Unmarshal(body, &bye); err != nil {
		return fmt.Errorf("%w: a bye that is no JSON: %w", errFrame, err)
	}
	r.life.bye.Store(true)
	why := reasonOf(bye.Why)
	r.goes(why)
	switch why { //nolint:exhaustive // the others mean this worker alone
	case byFPM:
		r.crew.makeWay(r, time.Now())
	case byRedeclare:
		r.crew.advice.Do(func() {
			r.crew.log.Warn("the script declares functions or classes, so each worker runs one job only: return a callable, name a call, or use mode = \"request\"", "script", r.crew.topic.opts.Script)
		})
	}
	return nil
}

// makeWay has all workers leave that are as old as r, since FPM stops or reloads, and starts no others for a moment: an
// old child that is about to end might take the request, and hold up the reload.
func (c *crew) makeWay(r *resident, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.epoch == c.epoch {
		c.epoch++
		c.outdated = byFPM
	}
	c.notBefore = now.Add(fpmPause)
	c.nudge()
}

// serves notes that the worker is ready: from here on it gets jobs.
func (r *resident) serves(ctx context.Context, body []byte) error {
	var ready struct {
		BootMS float64 `json:"boot_ms"`
		Memory int64   `json:"mem"`
	}
	if err := json.Unmarshal(body, &ready); err != nil {
		return fmt.Errorf("%w: a ready that is no JSON: %w", errFrame, err)
	}
	r.life.hearOut(ctx) // what the bootstrap said belongs to no job
	c, now := r.crew, time.Now()
	r.life.boot = time.Duration(ready.BootMS * float64(time.Millisecond))
	c.metrics.bootstrap.Observe(r.life.boot.Seconds())
	c.mu.Lock()
	r.ready, r.since, r.heard = true, now, now
	r.memory, r.grewFrom = ready.Memory, ready.Memory
	c.faults, c.notBefore = 0, time.Time{}
	r.freed(now)
	if limit := c.topic.opts.MaxMemory; limit > 0 && ready.Memory > limit {
		c.tight.Do(func() {
			c.log.WarnContext(ctx, "max_memory is less than a worker holds before its first job, so each runs one job only", "holds", ready.Memory, "max_memory", limit)
		})
	}
	return nil
}

func (r *resident) ponged() {
	now := time.Now()
	r.crew.mu.Lock()
	r.pinged, r.heard = time.Time{}, now
	r.freed(now)
}

// freed gives it jobs if there are any. It unlocks crew.mu.
func (r *resident) freed(now time.Time) {
	c := r.crew
	first := c.dispatch(now)
	if len(c.takers) > 0 {
		c.permit(now)
	}
	c.nudge()
	c.mu.Unlock()
	for ; first != nil; first = first.flush() {
	}
}
