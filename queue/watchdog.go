package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"sidecar/internal/plural"
)

const (
	// askPatience is how long the watchdog waits for an answer from inside the process.
	askPatience = 5 * time.Second

	// recoveryLook is how often it looks whether a stall is over. That asks nobody.
	recoveryLook = time.Second

	// stallPause bounds how much rarer a consumer is replaced that stalls again and again: after << stallPause.
	stallPause = 3
)

// watchdog sees to it that work which is due gets claimed (docs/decisions/0013). It believes what it can see from
// outside, texts that wait and a count of claims that stands still, and none of the flow's own words. While claims
// come, or the gate says why none can, it asks Redis nothing.
type watchdog struct {
	store   *Store // over a client of its own: connections that hang must not blind it
	gate    Gate
	after   time.Duration
	metrics *topicMetrics
	log     *slog.Logger
	asked   chan error // the answer to a question that is still open. Only used by watch's goroutine
	begun   bool       // likewise

	mu    sync.Mutex // guards what follows
	stall error      // why the topic is thought to be stalled
	again int        // stalls since the last claim
}

// errAlone is why runs do not begin although they have their slots.
var errAlone = errors.New("a job runs alone, or waits for that")

// finding is what one look found.
type finding int

const (
	// moving: texts were claimed since the last look.
	moving finding = iota + 1
	// excused: nothing is due, or there is a reason of its own why nothing is claimed.
	excused
	// unknown: Redis did not tell.
	unknown
	// waiting: work is due, and nothing known keeps it from being claimed.
	waiting
)

// watch returns when work was due for w.after and f claimed none of it, or when ctx is done.
func (w *watchdog) watch(ctx context.Context, f *flow) {
	if w.after <= 0 {
		<-ctx.Done()
		return
	}
	if !w.begun { // the watchdogs of many topics are not to ask at the same moment
		w.begun = true
		pause(ctx, rand.N(w.after/2))
	}
	w.asked = nil
	var since time.Time // when work was first seen that nobody claims
	claimed := f.feeder.claimed.count()
	for w.pause(ctx, f, claimed) {
		found, depths := w.look(ctx, f, claimed)
		claimed = f.feeder.claimed.count()
		switch found {
		case moving, excused:
			since = time.Time{}
			w.recovered(ctx, found == moving)
		case unknown:
			since = time.Time{}
		case waiting:
			if since.IsZero() {
				since = time.Now()
			}
			if waited := time.Since(since); waited >= w.patience() {
				w.report(ctx, f, depths, waited)
				return
			}
		}
	}
}

// patience is how long work may wait: longer where replacing the consumer did not help.
func (w *watchdog) patience() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.after << min(w.again, stallPause)
}

// pause waits until the next look: half of after, so that a stall is found in at most one and a half of it. The end
// of a stall is found sooner.
func (w *watchdog) pause(ctx context.Context, f *flow, claimed int64) bool {
	half := w.after / 2
	if w.current() == nil {
		return pause(ctx, half)
	}
	for next := time.Now().Add(half); time.Now().Before(next) && f.feeder.claimed.count() == claimed; {
		if !pause(ctx, min(half, recoveryLook)) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (w *watchdog) look(ctx context.Context, f *flow, claimed int64) (finding, Depths) {
	if f.feeder.claimed.count() != claimed {
		return moving, Depths{}
	}
	if reason, answered := w.ask(ctx, func() error { return f.excuse(w.gate) }); answered && reason != nil {
		return excused, Depths{}
	}
	depths, err := w.store.Depths(ctx)
	switch {
	case err != nil:
		return unknown, depths
	case f.feeder.claimed.count() != claimed:
		return moving, depths
	case depths.Due+depths.Ready == 0:
		return excused, depths
	}
	return waiting, depths
}

// ask puts a question to what may be stuck. One that was not answered stays open, and counts as no answer.
func (w *watchdog) ask(ctx context.Context, question func() error) (reason error, answered bool) {
	if w.asked == nil {
		answer := make(chan error, 1)
		go func() { answer <- question() }()
		w.asked = answer
	}
	timer := time.NewTimer(min(askPatience, w.after/2))
	defer timer.Stop()
	select {
	case reason = <-w.asked:
		w.asked = nil
		return reason, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}

// excuse returns why no claim is to be expected, nil if there is no such reason.
func (f *flow) excuse(gate Gate) error {
	if err := f.feeder.brake.excuse(f.feeder.at); err != nil {
		return err
	}
	if at := f.feeder.at; !at.is(claiming) && !at.is(sorting) { // else it has slots, and those may be all there are
		if err := gate.Blocked(); err != nil {
			return err
		}
	}
	if f.feeder.at.is(awaitingRuns) && f.worker.solo.holdsUp() {
		return errAlone
	}
	for _, t := range []*trouble{f.scanner.trouble, f.feeder.trouble, f.feeder.intake.trouble} {
		if err := t.current(); err != nil && !lostOnTheWay(err) { // Redis itself has said why not
			return err
		}
	}
	if f.feeder.at.is(awaitingVerdicts) {
		return f.settler.current()
	}
	return nil
}

// lostOnTheWay reports that err is no answer of Redis.
func lostOnTheWay(err error) bool {
	fault := FaultOf(err)
	return fault == Network || fault == Other
}

// report says loudly what is known of a stall.
func (w *watchdog) report(ctx context.Context, f *flow, d Depths, waited time.Duration) {
	w.mu.Lock()
	w.stall = fmt.Errorf("stalled: %s due and %d ready, none was claimed for %s", plural.Of(d.Due, "job is", "jobs are"), d.Ready, waited.Round(time.Second))
	w.again++
	w.mu.Unlock()
	w.metrics.stalled.Set(1)
	w.log.ErrorContext(ctx, "stalled: work is due and nothing is claimed, the consumer is replaced",
		"waited", waited, "due", d.Due, "oldest_due_age", d.OldestDueAge, "ready", d.Ready, "pool", d.Pool, "running", d.Running,
		"last_claim", f.feeder.claimed.String(), "under_way", f.worker.flight.jobs.Load(),
		"scanner", f.scanner.at.String(), "feeder", f.feeder.at.String(), "keeper", f.keeper.at.String())
	w.metrics.stalls.Inc()
}

// recovered notes that the topic is not stalled.
func (w *watchdog) recovered(ctx context.Context, claims bool) {
	w.mu.Lock()
	was := w.stall
	w.stall = nil
	if claims {
		w.again = 0
	}
	w.mu.Unlock()
	if was == nil {
		return
	}
	w.metrics.stalled.Set(0)
	w.log.InfoContext(ctx, "stalled no more", "claims", claims)
}

// leave ends the watch of a consumer that takes nothing any more: whether its topic is stalled is its successor's to tell.
func (w *watchdog) leave() {
	if w.current() != nil {
		w.metrics.stalled.Set(0)
	}
}

// current returns the stall that is on, or nil.
func (w *watchdog) current() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stall
}
