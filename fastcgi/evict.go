package fastcgi

import (
	"cmp"
	"time"
)

// slotSlice is how long a topic keeps what it has got for its workers from another with the same share: starting
// one costs a bootstrap.
const slotSlice = time.Second

// standing says whether jobs of t may start, and how many slots are free.
func (p *Pool) standing(t *Topic) (open bool, free int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate.open() && t.gate.open(), max(0, p.limit-p.used)
}

// granted reports what w got, and whether that is all that comes of it: it got something, or it leaves.
func (p *Pool) granted(w *waiter, leave bool) (got int, over bool) {
	if leave {
		return p.leave(w), true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.got, w.got > 0
}

// toGiveUp is how many slots t's crew is to give up.
func (p *Pool) toGiveUp(t *Topic) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.press() // what was refused when they came may be right by now
	}
	return t.giveUp
}

// insist looks again whether somebody has to give up a slot: some only have to after a while.
func (p *Pool) insist() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.press()
}

// press asks crews to give up workers: for whoever waits, while there are more than there are slots now. Slots that are
// held by a run of mode request come back by themselves. p.mu is held.
func (p *Pool) press() {
	asked := 0
	for _, t := range p.topics {
		asked += t.giveUp
	}
	wanted := max(0, p.used-p.limit)
	w := p.poorest()
	if w != nil && p.gate.open() && p.used >= p.limit {
		wanted++
	}
	for ; asked < wanted; asked++ {
		var t *Topic
		if p.used > p.limit {
			t = p.richest(nil)
		} else {
			t = p.richest(w)
		}
		if t == nil {
			return
		}
		t.giveUp++
		t.nudge()
	}
}

// richest returns the topic whose crew is to give up a slot, for w or, where that is nil, in any case: one whose workers
// have nothing to do, else the one that has most for its weight, if w's topic is poorer than that. p.mu is held.
func (p *Pool) richest(w *waiter) *Topic {
	var idle, rich *Topic
	for _, t := range p.topics {
		if t.crew == nil || t.used <= t.giveUp || w != nil && w.topic == t {
			continue
		}
		if int(t.spare.Load()) > t.giveUp && (idle == nil || idle.poorerThan(t)) {
			idle = t
		}
		if rich == nil || rich.poorerThan(t) {
			rich = t
		}
	}
	switch {
	case idle != nil, w == nil:
		return cmp.Or(idle, rich)
	case rich != nil && w.topic.mayTakeFrom(rich):
		return rich
	}
	return nil
}

// poorerThan reports that t has fewer slots for its weight, without those it is to give up.
func (t *Topic) poorerThan(other *Topic) bool {
	return (t.used-t.giveUp)*other.opts.Weight < (other.used-other.giveUp)*t.opts.Weight
}

// mayTakeFrom reports that t is due, or with one slot more would still be no richer than other is now. A topic's last
// slot stays with it for its turn.
func (t *Topic) mayTakeFrom(other *Topic) bool {
	left, at := other.used-other.giveUp, time.Now()
	if left <= 1 && at.Before(other.turn) {
		return false
	}
	kept := at.Sub(other.granted) >= slotSlice
	if t.isDue(at) {
		return left > 1 || kept
	}
	after, now := (t.used+1)*other.opts.Weight, left*t.opts.Weight
	return after < now || after == now && kept
}
