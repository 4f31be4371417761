package fastcgi

import (
	"context"
	"time"
)

// Kill asks FPM to kill a child, as a run does that may not kill it itself.
func Kill(ctx context.Context, p *Pool, pid int) error { return p.kill(ctx, pid) }

// SlotsUsed returns how many slots of p are taken.
func SlotsUsed(p *Pool) int {
	used, _, _ := p.load()
	return used
}

// TopicSlots returns how many slots t has.
func TopicSlots(t *Topic) int {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.used
}

// SetPatience changes how long jobs may wait for a child before that is told. Call it before the pool runs.
func SetPatience(p *Pool, d time.Duration) { p.patience = d }
