package spool

import (
	"context"
	"time"
)

// pace spreads rows over time.
type pace struct {
	rate int       // rows a second, 0: no limit
	next time.Time // when the next may come
}

// most returns how many of batch may come at once: no more than a second's.
func (p *pace) most(batch int) int {
	if p.rate > 0 {
		return min(batch, p.rate)
	}
	return batch
}

// wait returns when the next rows may come, or an error when ctx ends first.
func (p *pace) wait(ctx context.Context) error {
	timer := time.NewTimer(time.Until(p.next))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spend notes that n rows have come. What was not used is not saved up.
func (p *pace) spend(n int) {
	if p.rate == 0 {
		return
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
}
