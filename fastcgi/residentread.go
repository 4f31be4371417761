package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidecar/compat"
)

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
			err = errors.Join(r.settle(ctx, done), r.readOther(ctx, f))
			done = done[:0]
		}
		if len(done) > 0 && (err != nil || !in.more()) {
			err = errors.Join(r.settle(ctx, done), err)
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
	err = r.settle(ctx, done)
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
	return fmt.Errorf("%w: a frame of kind %q", errFrame, byte(f.kind))
}

// settle ends the first jobs in hand, gives out others, and only then wakes those who wait for the outcomes.
func (r *resident) settle(ctx context.Context, list []conclusion) error {
	if len(list) == 0 {
		return nil
	}
	c, now := r.crew, time.Now()
	said := r.forgetStderr(ctx)
	c.watchCode(now)
	c.mu.Lock()
	if said {
		c.noisy.Store(quietRuns)
	}
	var room [2 * aheadInSocket]*errand
	ended := room[:0]
	var news []*route // that no job had shown before to run here
	var err error
	for _, a := range list {
		e, fault := r.takeOut(a.id)
		if fault != nil {
			err = fault
			break
		}
		r.memory = a.memory
		if a.outcome.Verdict != compat.Unavailable {
			c.measure(e.route, a.outcome.Took)
			if !r.proved[e.route.number] {
				r.proved[e.route.number] = true
				news = append(news, e.route)
			}
		}
		if e.alone {
			c.metrics.answered(now.Sub(e.sent), a.outcome.Took)
		}
		ended = append(ended, e)
	}
	r.since, r.heard = now, now
	first := c.dispatch(now)
	if len(r.inHand) == 0 {
		r.restedAt(now)
	} else {
		c.wakeBy(now.Add(r.inHand[0].route.timeout))
	}
	c.mu.Unlock()
	flushAll(first)
	for i, e := range ended {
		e.end(list[i].outcome)
	}
	for _, to := range news {
		c.topic.pool.proven(c.topic, to)
	}
	return err
}

// takeOut takes the first job in hand out, which must be the one that was answered. crew.mu is held.
func (r *resident) takeOut(id uint32) (*errand, error) {
	e, err := r.running(id)
	if err != nil {
		return nil, err
	}
	r.inHand = append(r.inHand[:0], r.inHand[1:]...)
	r.ahead -= len(e.job.Raw())
	r.served++
	r.last = e.route
	return e, nil
}

// running returns the first job in hand, which must be the one with that id. crew.mu is held.
func (r *resident) running(id uint32) (*errand, error) {
	switch {
	case len(r.inHand) == 0:
		return nil, fmt.Errorf("%w: a verdict on job %d, want none, as it has no job", errFrame, id)
	case r.inHand[0].id != id:
		return nil, fmt.Errorf("%w: a verdict on job %d, want one on job %d", errFrame, id, r.inHand[0].id)
	}
	return r.inHand[0], nil
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
	e, err := r.running(id)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	outcome := r.judge(ctx, e, a)
	return r.settle(ctx, []conclusion{{id, outcome, a.Memory}})
}

// judge says what e came to, and tells gates and log.
func (r *resident) judge(ctx context.Context, e *errand, a answer) compat.Outcome {
	t := r.crew.topic
	output, size := a.output()
	f := facts{
		ending: answered, started: true, timeout: e.route.timeout, success: t.opts.SuccessBody,
		sign: &a.sign, output: output, stderr: r.life.hearOut(ctx),
	}
	outcome, whose := judge(f)
	outcome.Took = a.took()
	t.concluded(e.job, e.route, &outcome, whose, f)
	if e.result != nil {
		*e.result = Result{
			Started: true, Output: cut(output, t.opts.OutputLimit, size), Stderr: f.stderr,
			Elapsed: outcome.Took, Memory: a.Memory,
		}
		r.life.describe(e.result)
	}
	return outcome
}
