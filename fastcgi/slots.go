package fastcgi

import (
	"context"
	"slices"
	"time"
)

// waiter is one Acquire that waits for its slots. Guarded by Pool.mu until ready is closed.
type waiter struct {
	topic *Topic
	most  int
	got   int
	ready chan struct{}
}

// acquireSlots waits until pool and topic are open and at least one slot is free, and takes between 1 and most of
// them. It returns 0 only when ctx is done.
func (t *Topic) acquireSlots(ctx context.Context, most int) int {
	w := t.pool.enlist(t, most)
	select {
	case <-w.ready:
		return w.got
	case <-ctx.Done():
		return t.pool.leave(w)
	}
}

// enlist asks for slots: whatever number up to most is free first.
func (p *Pool) enlist(t *Topic, most int) *waiter {
	w := &waiter{topic: t, most: max(1, most), ready: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, w)
	p.grant()
	return w
}

// releaseSlots gives n slots back.
func (t *Topic) releaseSlots(n int) {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	t.used -= n
	p.used -= n
	t.giveUp = max(0, t.giveUp-n)
	p.grant()
}

// leave takes w out of the queue; what it was granted in this moment it keeps.
func (p *Pool) leave(w *waiter) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(other *waiter) bool { return other == w })
	if !slices.ContainsFunc(p.waiting, func(other *waiter) bool { return other.topic == w.topic }) {
		w.topic.without = time.Time{}
	}
	return w.got
}

// grant hands out free slots one by one, each to the waiting topic that has least of them for its weight, and
// wakes whoever got some. p.mu is held.
func (p *Pool) grant() {
	for p.gate.open() && p.used < p.limit {
		w := p.poorest()
		if w == nil {
			break
		}
		w.got++
		w.topic.take(time.Now())
		p.used++
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if w.got > 0 {
			close(w.ready)
		}
		return w.got > 0
	})
	p.metrics.slotsChanged(p, p.limit, p.used)
	p.press()
}

// take gives the topic a slot. One that had to wait for its turn has it for a while now.
func (t *Topic) take(now time.Time) {
	if t.isDue(now) && !now.Before(t.turn) {
		t.turn = now.Add(slotSlice)
	}
	t.used++
	t.granted, t.without = now, time.Time{}
}

// isDue reports that the topic is to have a slot before all others: it has none, and has waited for long. Where there are
// fewer slots than the weights add up to, its share is less than one, and by shares alone it would never get any.
func (t *Topic) isDue(now time.Time) bool {
	return t.used == 0 && (now.Before(t.turn) || !t.without.IsZero() && now.Sub(t.without) >= slotSlice)
}

// poorest returns the waiter whose topic is due, or else would have the smallest share with one slot more; the first of
// equals.
func (p *Pool) poorest() *waiter {
	var poorest *waiter
	now := time.Now()
	for _, w := range p.waiting {
		t := w.topic
		if w.got == w.most || t.used >= t.opts.Workers || !t.gate.admits(t.used) {
			continue
		}
		if t.used == 0 && t.without.IsZero() {
			t.without = now
		}
		if t.isDue(now) {
			return w
		}
		// (used+1)/weight compared crosswise
		if poorest == nil || (t.used+1)*poorest.topic.opts.Weight < (poorest.topic.used+1)*t.opts.Weight {
			poorest = w
		}
	}
	return poorest
}

// SetChildren says how many of the pool's children jobs may occupy from now on. Slots above that which are in use
// run out with their jobs.
func (p *Pool) SetChildren(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit == p.children { // nobody else needs any
		p.limit = n
	}
	p.children, p.limit = n, min(p.limit, n)
	p.grant()
}

// slots returns how many there are when nobody else needs children.
func (p *Pool) slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.children
}

// setLimit says how many slots there are now.
func (p *Pool) setLimit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = min(n, p.children)
	p.grant()
}

// load returns the slots in use and whether any are wanted.
func (p *Pool) load() (used, limit int, wanted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used, p.limit, len(p.waiting) > 0
}
