package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// group is the settlements of one action that wait for their write.
type group struct {
	action  Action
	write   write
	trouble *trouble
	linger  time.Duration // how long none must have come before the write

	mu      sync.Mutex // guards what follows
	pending []*settlement
	closed  bool
	wake    chan struct{} // cap 1: pending or closed changed
}

// Texts for the head of ready are collected until none has come for giveBackLinger: when a process stops, or FPM does, many
// come back at nearly the same moment, and only those of one write keep their order. On a busy host that moment is longer,
// so each that comes is waited for anew, lingersMost times at most.
const (
	giveBackLinger = 20 * time.Millisecond
	lingersMost    = 10
)

// groupMost bounds a write: Redis serves nobody else while it runs.
const groupMost = 128

func (g *group) add(one *settlement) {
	g.mu.Lock()
	g.pending = append(g.pending, one)
	g.mu.Unlock()
	g.signal()
}

func (g *group) finish() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
}

func (g *group) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// putBack returns what was refused to its place, before all that came later.
func (g *group) putBack(left []*settlement) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = append(left, g.pending...)
}

// take waits for settlements and takes up to groupMost of them; none when all are through or ctx is done.
func (g *group) take(ctx context.Context) []*settlement {
	for ctx.Err() == nil {
		n, closed := g.waiting()
		if n > 0 && !closed {
			g.collect(ctx, n)
		}
		if n > 0 || closed {
			return g.next()
		}
		select {
		case <-ctx.Done():
		case <-g.wake:
		}
	}
	return nil
}

// collect waits for others, of which n are there, as long as they come.
func (g *group) collect(ctx context.Context, n int) {
	for range lingersMost {
		if g.linger == 0 || !pause(ctx, g.linger) {
			return
		}
		more, closed := g.waiting()
		if more == n || more >= groupMost || closed {
			return
		}
		n = more
	}
}

// waiting returns how many are pending, and whether no more can come.
func (g *group) waiting() (n int, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending), g.closed
}

func (g *group) next() []*settlement {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.pending), groupMost)
	if g.action == GiveBack {
		return g.nextGivenBack(n)
	}
	batch := slices.Clone(g.pending[:n])
	g.pending = append(g.pending[:0], g.pending[n:]...)
	return batch
}

// nextGivenBack takes those claimed last: each write puts its texts before what is at the head of ready,
// so the oldest have to be written last to be there first again.
func (g *group) nextGivenBack(n int) []*settlement {
	slices.SortFunc(g.pending, func(a, b *settlement) int { return cmp.Compare(a.claim.seq, b.claim.seq) })
	rest := len(g.pending) - n
	batch := slices.Clone(g.pending[rest:])
	g.pending = g.pending[:rest]
	return batch
}
