package fastcgi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// fpmPause is how long FPM's children may take to end that have nothing to do.
const fpmPause = 100 * time.Millisecond

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
			r.crew.log.WarnContext(ctx, "a worker died between two jobs", "pid", r.life.call.PID, "error", a.Error)
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
		r.advise()
	}
	return nil
}

// advise says, once, what to do about the script that was run last: it cannot be included again.
func (r *resident) advise() {
	c := r.crew
	c.mu.Lock()
	to := r.last
	news := to != nil && !c.advised[to.number]
	if news {
		c.advised[to.number] = true
	}
	c.mu.Unlock()
	if news {
		c.log.Warn("the script declares functions or classes, so each worker runs one job only: return a callable, name a call, or use mode = \"request\"", "script", to.script)
	}
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
	flushAll(first)
}
