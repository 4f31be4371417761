package queue

import (
	"context"
	"time"
)

// Feeder claims jobs for slots that are free and starts their runs. It holds no slot while it waits, so a
// quiet topic takes nothing from the others that share its pool.
type Feeder struct {
	store   *Store
	gate    Gate
	brake   *brake
	wake    <-chan struct{} // ready has changed, as Redis tells us
	hint    <-chan struct{} // ready has something, as our own Scanner tells us
	rhythm  rhythm
	at      *station
	claimed *progress // texts that Redis gave, copies put off included
	intake  *intake
	keeper  *Keeper
	clock   *serverClock
	replies *lostReplies
	metrics *topicMetrics
	trouble *trouble
	worker  *worker
	flight  *flight
	most    int // claims in hand, settlements that wait included

	answered time.Time // when the last claim was answered. Only used by Run's goroutine
}

// Run claims and starts runs until take is done, and while nothing holds the topic back; work is the runs'.
func (f *Feeder) Run(take, work context.Context) {
	for {
		f.at.at(heldBack)
		open, pass := f.brake.await(take)
		if pass == nil {
			return
		}
		f.feed(open, work, pass)
		f.brake.leave(pass)
		f.gate.Recall()
	}
}

// feed claims and starts runs until take is done, which is that of a pass; as a probe until one job has been claimed.
func (f *Feeder) feed(take, work context.Context, pass *pass) {
	again := backoff{most: time.Second}
	for more := true; take.Err() == nil; {
		if !more {
			f.at.at(awaitingReady)
			f.awaitReady(take)
		}
		f.at.at(awaitingRuns)
		if !f.flight.await(take, f.flight.mark()) || !f.awaitRoom(take) {
			return
		}
		begun, left, err := f.feedOnce(take, work, pass)
		if pass.probe && begun > 0 {
			return
		}
		more = left
		f.trouble.note(take, err)
		if err != nil {
			more = true
			f.at.at(backingOff)
			again.wait(take)
			continue
		}
		again.reset()
	}
}

// feedOnce takes slots, claims for them and starts the runs. more reports that ready may hold others.
func (f *Feeder) feedOnce(take, work context.Context, pass *pass) (begun int, more bool, err error) {
	n := f.acquire(take, pass)
	if n == 0 {
		return 0, true, nil
	}
	f.at.at(claiming)
	claims, err := f.claim(take, n)
	f.brake.refund(n - len(claims.List))
	f.at.at(sorting)
	runnable := f.intake.sort(take, claims)
	if spare := n - len(runnable); spare > 0 {
		f.gate.Release(spare)
	}
	f.flight.enter(len(runnable))
	for _, h := range runnable {
		if pass.probe {
			h.probe = pass
			f.brake.use(pass)
		}
		f.worker.start(take, work, h)
	}
	return len(runnable), claims.More, err
}

// acquire returns for how many jobs there are slots and, by the topic's rate, tokens; 0 when take is done first, or when
// the tokens are gone by the time that there are slots. It keeps no slot while it waits for tokens.
func (f *Feeder) acquire(take context.Context, pass *pass) int {
	most := min(f.flight.free(), maxClaim)
	if pass.probe {
		most = 1
	}
	if most = f.brake.allowance(take, most, f.at); most == 0 {
		return 0
	}
	f.at.at(awaitingSlots)
	slots := f.gate.Acquire(take, most)
	n := 0
	if take.Err() == nil { // else what would be claimed now would only go back
		n = f.brake.spend(slots)
	}
	if slots > n {
		f.gate.Release(slots - n)
	}
	return n
}

// claim takes up to n texts. Once sent, it is not cut short: claims whose reply nobody reads are jobs
// nobody runs until their leases end.
func (f *Feeder) claim(take context.Context, n int) (Claims, error) {
	sent, asked := f.clock.earliest(), time.Now()
	claims, err := f.store.Claim(context.WithoutCancel(take), n)
	f.answered = time.Now()
	if err != nil {
		if mayHaveRun(err) {
			f.replies.add(sent, f.clock.now(), f.intake.lease)
		}
		return Claims{}, err
	}
	claims.asked, claims.given = asked, f.answered
	f.clock.set(claims.Now, asked)
	f.claimed.add(len(claims.List) + claims.Twins)
	f.metrics.claims.Add(float64(len(claims.List)))
	f.metrics.twins.Add(float64(claims.Twins))
	f.metrics.merged.Add(float64(claims.Merged))
	return claims, nil
}

// awaitRoom waits while too many verdicts have not reached Redis: claiming on would only pile up more.
func (f *Feeder) awaitRoom(take context.Context) bool {
	again := backoff{most: time.Second}
	for f.keeper.inHand() >= f.most && take.Err() == nil {
		f.at.at(awaitingVerdicts)
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
