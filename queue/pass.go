package queue

import (
	"context"
	"time"
)

// pass is a Feeder's permission to claim. It holds as long as the context that came with it.
type pass struct {
	cancel context.CancelFunc
	done   <-chan struct{} // that context's
	probe  bool            // for one job, whose run tells whether the breaker may open
	used   bool            // that job was claimed; guarded by brake.mu
}

// abandoned reports that its Feeder was told to end before it had claimed the probe, and may be stuck for ever.
func (p *pass) abandoned() bool {
	select {
	case <-p.done:
		return !p.used
	default:
		return false
	}
}

// await waits until claims may be made. It returns a context that ends when they may be no more, and a pass that leave
// wants back; no pass when take is done first.
func (b *brake) await(take context.Context) (context.Context, *pass) {
	for take.Err() == nil {
		open, p, changed, wait := b.enter(take)
		if p != nil {
			return open, p
		}
		awaitChange(take, changed, wait)
	}
	return take, nil
}

// awaitChange waits for a change, and no longer than d unless that is 0.
func awaitChange(take context.Context, changed <-chan struct{}, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-take.Done():
	case <-changed:
	case <-due:
	}
}

// enter returns a pass, if there is one to have; else what is closed when something changes, and after how long there
// may be one anyhow: 0 for never.
func (b *brake) enter(take context.Context) (context.Context, *pass, <-chan struct{}, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stillLocked() {
		return take, nil, b.changed, 0
	}
	trip := b.breaker.trip
	if trip != nil {
		if may, wait := trip.mayProbe(time.Now()); !may {
			return take, nil, b.changed, wait
		}
	}
	open, cancel := context.WithCancel(take)
	p := &pass{cancel: cancel, done: open.Done(), probe: trip != nil}
	if p.probe {
		trip.probe = p
	}
	b.passes[p] = struct{}{}
	return open, p, b.changed, 0
}

// use notes that the probe's job was claimed: its pass stays until [brake.saw] has its outcome.
func (b *brake) use(p *pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.used = true
}

// leave gives a pass back, unless a probe is on its way under it.
func (b *brake) leave(p *pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.used {
		return
	}
	b.leaveLocked(p)
	if p.probe {
		b.turnLocked() // somebody else may try
	}
}

func (b *brake) leaveLocked(p *pass) {
	p.cancel()
	delete(b.passes, p)
	if t := b.breaker.trip; t != nil && t.probe == p {
		t.probe = nil
	}
}

// allowance waits until at least one job may start by the topic's rate, and returns how many of n; 0 when take is done
// first. Nothing is taken yet: who waits for slots meanwhile must not keep tokens, or they would come on top of what the
// rate grants until then.
func (b *brake) allowance(take context.Context, n int, at *station) int {
	for take.Err() == nil {
		bucket := b.bucket.Load()
		if bucket == nil {
			return n
		}
		tokens, wait := bucket.ready(time.Now())
		if tokens > 0 {
			return min(n, tokens)
		}
		at.at(awaitingTokens)
		changed := b.beginWaiting()
		awaitChange(take, changed, wait)
		b.endWaiting()
	}
	return 0
}

func (b *brake) beginWaiting() (changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting++
	return b.changed
}

func (b *brake) endWaiting() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
	b.waited = time.Now()
}

// spend takes tokens for up to n claims and returns for how many.
func (b *brake) spend(n int) int {
	bucket := b.bucket.Load()
	if bucket == nil {
		return n
	}
	return bucket.take(n, time.Now())
}

// refund gives the tokens of n claims back that there was no job for.
func (b *brake) refund(n int) {
	if bucket := b.bucket.Load(); bucket != nil && n > 0 {
		bucket.put(n)
	}
}
