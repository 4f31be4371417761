package fastcgi

import (
	"context"
	"slices"
	"time"
)

const (
	// aheadWork is how much work a worker may have ahead, and aheadMost how many claims (DESIGN 3).
	aheadWork = 10 * time.Millisecond
	aheadMost = 64
)

// taker is one Acquire that waits for permits. Guarded by crew.mu until ready is closed.
type taker struct {
	most  int
	got   int
	ready chan struct{}
}

// acquire waits until jobs may start, and takes between 1 and most permits. It returns 0 only when ctx is done.
// A permit is no slot: the workers hold those. It is the right to claim one job more, ahead of a worker.
func (c *crew) acquire(ctx context.Context, most int) int {
	if ctx.Err() != nil {
		return 0
	}
	w := &taker{most: max(1, most), ready: make(chan struct{})}
	c.mu.Lock()
	c.takers = append(c.takers, w)
	c.permit(time.Now())
	c.mu.Unlock()
	select {
	case <-w.ready:
		return w.got
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takers = slices.DeleteFunc(c.takers, func(other *taker) bool { return other == w })
	return w.got
}

// release gives n permits back.
func (c *crew) release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken -= n
	if len(c.takers) > 0 {
		c.permit(time.Now())
	}
}

// permit hands out what permits there are, to the first who asked. mu is held.
func (c *crew) permit(now time.Time) {
	for len(c.takers) > 0 {
		w := c.takers[0]
		w.got = min(w.most, c.permits(now)-c.taken)
		if w.got <= 0 {
			w.got = 0
			c.wakeBy(now.Add(patience))
			return
		}
		c.taken += w.got
		c.takers = c.takers[1:]
		close(w.ready)
	}
}

// permits is how many jobs may be claimed and not be settled: a window for every worker there is, or could be at
// once. A worker that has been with one job for long gets none ahead, nor one that takes long to leave. mu is held.
func (c *crew) permits(now time.Time) int {
	open, free := c.topic.pool.standing(c.topic)
	if c.drained {
		return 0
	}
	if !open {
		return c.trialPermit(now)
	}
	window := c.window()
	n, have := 0, 0
	for _, r := range c.residents {
		have++
		if len(r.inHand) > 0 && now.Sub(r.since) > patience || !r.told.IsZero() && now.Sub(r.told) > patience {
			n += len(r.inHand)
			continue
		}
		n += window
	}
	if c.slots != nil || now.Before(c.notBefore) {
		free = 0 // there is no worker to be had
	} else if have == 0 {
		free = max(free, 1) // somebody may have to give way, and will only for a job that is there
	}
	return n + window*max(0, min(free, c.workers-have))
}

// trialPermit is 1 while one job may run although the topic's gate is shut, else 0. mu is held.
func (c *crew) trialPermit(now time.Time) int {
	if c.topic.onTrial() && !now.Before(c.notBefore) && c.topic.pool.shutReason() == nil {
		return 1
	}
	return 0
}

// window is how many claims one worker may have ahead: what it does in [aheadWork].
func (c *crew) window() int {
	if c.pace.mean == 0 {
		return 1 // nothing is known of the runs yet
	}
	return max(1, min(aheadMost, int(aheadWork/c.pace.mean)))
}
