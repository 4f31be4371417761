package queue

import (
	"context"
	"time"
)

// Feeder claims jobs for slots that are free and hands them to the workers. It holds no slot while it
// waits, so a quiet topic takes nothing from the others that share its pool.
type Feeder struct {
	store    *Store
	gate     Gate
	wake     <-chan struct{} // ready has changed, as Redis tells us
	hint     <-chan struct{} // ready has something, as our own Scanner tells us
	rhythm   rhythm
	intake   *intake
	keeper   *Keeper
	clock    *serverClock
	replies  *lostReplies
	metrics  *topicMetrics
	trouble  *trouble
	handover chan<- *held    // one place a worker: never full
	idle     <-chan struct{} // a worker became free
	most     int             // claims in hand, settlements that wait included

	free     int       // workers without a job. Only used by Run's goroutine
	answered time.Time // when the last claim was answered. Only used by Run's goroutine
}

// Run feeds the workers until take is done, then tells them by closing the handover.
func (f *Feeder) Run(take context.Context) {
	defer close(f.handover)
	again := backoff{most: time.Second}
	for more := true; take.Err() == nil; {
		if !more {
			f.awaitReady(take)
		}
		if !f.awaitWorker(take) || !f.awaitRoom(take) {
			return
		}
		var err error
		more, err = f.feedOnce(take)
		f.trouble.note(take, err)
		if err != nil {
			more = true
			again.wait(take)
			continue
		}
		again.reset()
	}
}

// feedOnce takes slots, claims for them and hands the jobs over. more reports that ready may hold others.
func (f *Feeder) feedOnce(take context.Context) (more bool, err error) {
	slots := f.gate.Acquire(take, f.free)
	if slots == 0 {
		return false, nil
	}
	claims, err := f.claim(take, slots)
	runnable := f.intake.sort(take, claims)
	f.gate.Release(slots - len(runnable))
	f.free -= len(runnable)
	for _, h := range runnable {
		f.handover <- h
	}
	return len(claims.List)+claims.Twins >= slots, err
}

// claim takes up to n texts. Once sent, it is not cut short: claims whose reply nobody reads are jobs
// nobody runs until their leases end.
func (f *Feeder) claim(take context.Context, n int) (Claims, error) {
	sent := f.clock.now()
	claims, err := f.store.Claim(context.WithoutCancel(take), n)
	f.answered = time.Now()
	if err != nil {
		if mayHaveRun(err) {
			f.replies.add(sent, f.clock.now())
		}
		return Claims{}, err
	}
	f.clock.set(claims.Now, f.answered)
	f.metrics.claims.Add(float64(len(claims.List)))
	f.metrics.twins.Add(float64(claims.Twins))
	f.metrics.merged.Add(float64(claims.Merged))
	return claims, nil
}

// awaitWorker waits until a worker is free and counts all that are.
func (f *Feeder) awaitWorker(take context.Context) bool {
	if f.free == 0 {
		select {
		case <-take.Done():
			return false
		case <-f.idle:
			f.free++
		}
	}
	for {
		select {
		case <-f.idle:
			f.free++
		default:
			return true
		}
	}
}

// awaitRoom waits while too many verdicts have not reached Redis: claiming on would only pile up more.
func (f *Feeder) awaitRoom(take context.Context) bool {
	again := backoff{most: time.Second}
	for f.keeper.inHand() >= f.most && take.Err() == nil {
		again.wait(take)
	}
	return take.Err() == nil
}

// awaitReady waits until ready may hold something: the Scanner's hint, Redis's word, or the poll.
func (f *Feeder) awaitReady(take context.Context) {
	timer := time.NewTimer(f.rhythm.poll())
	defer timer.Stop()
	select {
	case <-take.Done():
	case <-timer.C:
	case <-f.hint:
	case <-f.wake:
		// Our own claim changes ready, too: its echo costs one empty claim, never a spin.
		f.awaitHint(take, wakeGap-time.Since(f.answered))
	}
}

// awaitHint waits for d, or until the Scanner knows of something.
func (f *Feeder) awaitHint(take context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-take.Done():
	case <-timer.C:
	case <-f.hint:
	}
}
