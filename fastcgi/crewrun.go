package fastcgi

import (
	"context"
	"sync"
	"time"
)

const (
	// crewLooksEvery is how often a crew looks after workers that have nothing to do.
	crewLooksEvery = time.Second
	// pongPatience is how long an idle worker may take to answer (DESIGN 6.3).
	pongPatience = 250 * time.Millisecond
	// startBackoff bounds the pauses between starts that fail.
	startBackoff = 5 * time.Second
)

// keepCrews runs the crew of every topic that has one, until ctx is done and all their workers have left.
func (p *Pool) keepCrews(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		for _, c := range p.newCrews() {
			wg.Go(func() { c.run(ctx) })
		}
		select {
		case <-p.hire:
		case <-ctx.Done():
		}
	}
}

// newCrews returns those that nobody runs yet.
func (p *Pool) newCrews() []*crew {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*crew
	for _, t := range p.topics {
		if t.crew != nil && !t.crewRuns {
			t.crewRuns = true
			list = append(list, t.crew)
		}
	}
	return list
}

// run starts workers, looks after them and lets them go, until the crew has been drained and the last has left.
// ctx being done drains it, and stops what still runs.
func (c *crew) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	done := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.watchCode(time.Now())
		todo := c.arrange(time.Now())
		for _, r := range todo.write {
			flushAll(r)
		}
		for _, r := range todo.start {
			wg.Go(func() { r.live(ctx) })
		}
		if todo.over {
			return
		}
		timer.Reset(time.Until(todo.next))
		select {
		case <-timer.C:
		case <-c.nudges:
		case <-todo.slots:
		case <-done:
			done = nil
			c.drain()
			c.haltAll()
		}
	}
}

// plan is what run is to do outside of the lock.
type plan struct {
	start []*resident
	write []*resident
	slots <-chan struct{} // tells that slots were granted
	next  time.Time       // when to look again
	over  bool
}

// arrange looks at everything once.
func (c *crew) arrange(now time.Time) plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	todo := plan{next: now.Add(time.Hour)}
	if !c.single {
		c.letGo(c.topic.pool.toGiveUp(c.topic))
	}
	for _, r := range c.residents {
		todo.soonest(now, r.look(now))
		if len(r.unsent) > 0 && !r.writing {
			r.writing = true
			todo.write = append(todo.write, r)
		}
	}
	c.losePatience(now, &todo)
	c.hireMore(now, &todo)
	c.permit(now)
	c.count(now)
	if !c.drained && c.staying() < c.topic.opts.MinWorkers {
		todo.soonest(now, crewLooksEvery)
	}
	if len(c.takers) > 0 {
		todo.soonest(now, patience)
	}
	if !c.wakes.IsZero() && c.wakes.After(now) {
		todo.soonest(now, c.wakes.Sub(now))
	}
	c.wakes = todo.next
	todo.over = c.drained && len(c.residents) == 0
	return todo
}

func (p *plan) soonest(now time.Time, in time.Duration) {
	if at := now.Add(in); at.Before(p.next) {
		p.next = at
	}
}

// losePatience gives back the jobs that have waited for long while workers are busy with others: somebody else may
// have a free one. While one starts they wait for that. mu is held.
func (c *crew) losePatience(now time.Time, todo *plan) {
	if c.pending.len() == 0 {
		return
	}
	for _, r := range c.residents {
		if !r.ready { // one that fails is for the job that asked for it to bear
			todo.soonest(now, patience)
			return
		}
	}
	for c.pending.len() > 0 {
		left := patience - now.Sub(c.pending.first().asked)
		if left > 0 {
			todo.soonest(now, left)
			return
		}
		c.pending.pop().end(unavailable("no worker was free"))
		c.starved = len(c.residents) == 0
	}
}

// hireMore starts workers for the jobs that wait, and those that are to be there always, each on a slot. mu is held.
func (c *crew) hireMore(now time.Time, todo *plan) {
	need := c.need()
	if need > 0 && now.Before(c.notBefore) {
		todo.soonest(now, c.notBefore.Sub(now))
		need = 0
	}
	p := c.topic.pool
	switch {
	case c.single:
		c.startNew(need, now, todo)
		return
	case c.slots != nil:
		got, over := p.granted(c.slots, need == 0)
		if !over {
			todo.slots = c.slots.ready
			todo.soonest(now, patience)
			p.insist()
			return
		}
		c.slots = nil
		c.startNew(min(got, need), now, todo)
		if spare := got - need; spare > 0 {
			c.topic.releaseSlots(spare)
		}
		need -= got
	}
	if need > 0 {
		c.slots = p.enlist(c.topic, need)
		if got, over := p.granted(c.slots, false); over {
			c.slots = nil
			c.startNew(got, now, todo)
			return
		}
		todo.slots = c.slots.ready
		todo.soonest(now, patience)
	}
}

// need is how many workers more are wanted. mu is held.
func (c *crew) need() int {
	if c.drained {
		return 0
	}
	coming, staying := 0, 0
	for _, r := range c.residents {
		switch r.state() {
		case starting:
			coming++
			staying++
		case idle, busy:
			staying++
		case leaving:
			if !r.ready { // it has failed to start, and those who wait are to hear of that first
				coming++
			}
		}
	}
	need := c.pending.len() - coming
	if c.starved && need < 1 {
		need = 1
	}
	if kept := c.topic.opts.MinWorkers - staying; kept > need && (need > 0 || c.slotsFree()) {
		need = kept // nobody has to give way for workers without work
	}
	if c.single {
		need = min(need, 1-len(c.residents))
	}
	return max(0, min(need, c.workers-len(c.residents)))
}

func (c *crew) slotsFree() bool {
	open, free := c.topic.pool.standing(c.topic)
	return open && free > 0
}

// startNew adds n workers. mu is held.
func (c *crew) startNew(n int, now time.Time, todo *plan) {
	c.starved = c.starved && n <= 0
	for range n {
		r := newResident(c, now)
		c.residents = append(c.residents, r)
		todo.start = append(todo.start, r)
	}
}

// letGo lets n workers go for which others wait: idle ones first, then those that have been here longest.
// mu is held.
func (c *crew) letGo(n int) {
	for _, r := range c.residents {
		if r.leaving == byEviction {
			n--
		}
	}
	for _, state := range []workerState{idle, busy} {
		for _, r := range c.residents {
			if n > 0 && r.state() == state {
				r.leaving = byEviction
				n--
			}
		}
	}
}

// haltAll stops whatever runs.
func (c *crew) haltAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.residents {
		if len(r.inHand) > 0 || r.state() == starting {
			r.halt(byStop)
		}
	}
}

// count tells metrics, and the pool how many workers could be spared. mu is held.
func (c *crew) count(now time.Time) {
	states := map[workerState]int{}
	var memory int64
	spare := 0
	for _, r := range c.residents {
		states[r.state()]++
		memory = max(memory, r.memory)
		if r.state() == idle && now.Sub(r.since) >= patience {
			spare++
		}
	}
	for _, s := range workerStates() {
		c.metrics.workers[s].Set(float64(states[s]))
	}
	c.metrics.memory.Set(float64(memory))
	c.topic.spare.Store(int32(spare)) //nolint:gosec // a handful
}
