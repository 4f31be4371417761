package app

import (
	"context"
	"sync"
	"time"

	"sidecar/queue"
)

// How often the topics' keys are counted: while somebody looks, and while nobody does.
const (
	depthsWatched  = 2 * time.Second
	depthsIdle     = 10 * time.Second
	depthsPatience = 3 * time.Second // nobody waits for it

	// watchedFor is how long after a look somebody is thought to be looking still.
	watchedFor = 15 * time.Second
)

// depthsReader counts the topics' keys in the background, so that all pages and streams together cost Redis no more than
// one, and none of them waits for it.
type depthsReader struct {
	kick chan struct{} // somebody looks who has not for long
	lost lostWatch     // only used by run's goroutine

	mu     sync.Mutex
	last   depthsRound // guarded by mu
	looked time.Time   // guarded by mu: when somebody looked last
}

// depthsRound is one count of all topics. It is not changed any more.
type depthsRound struct {
	at     time.Time // monotonic; zero: there was none yet
	took   time.Duration
	topics map[string]queue.DepthsRead
	pauses map[string]queue.Pause
	unheld error            // why these are of before, where Redis answers
	err    error            // why Redis did not answer this time; what is known is of before
	now    queue.ServerTime // Redis's time at that moment
	memory memory
	asked  bool // memory is of this round, and was asked for behind the counts
}

func newDepthsReader() *depthsReader { return &depthsReader{kick: make(chan struct{}, 1)} }

// latest returns the last count.
func (d *depthsReader) latest() depthsRound {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// watch notes that somebody looks, and returns the last count.
func (d *depthsReader) watch() depthsRound {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.looked) > watchedFor {
		select {
		case d.kick <- struct{}{}:
		default:
		}
	}
	d.looked = time.Now()
	return d.last
}

// run counts until ctx is done.
func (d *depthsReader) run(ctx context.Context, a *app) {
	for {
		g := a.generation()
		if round := d.count(ctx, g, a.others()); round.asked {
			a.lookForLost(ctx, g, &d.lost, round)
		}
		wait := depthsIdle
		d.mu.Lock()
		if time.Since(d.looked) < watchedFor {
			wait = depthsWatched
		}
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-d.kick:
		}
	}
}

// count counts the topics of g once. others are the heartbeats of the other sidecars.
func (d *depthsReader) count(ctx context.Context, g *generation, others []queue.Heartbeat) (next depthsRound) {
	if g == nil {
		return next
	}
	ctx, cancel := context.WithTimeout(ctx, depthsPatience)
	defer cancel()
	before := d.latest()
	began := time.Now()
	next = depthsRound{topics: g.readDepths(ctx, others), pauses: before.pauses, memory: before.memory}
	for name, r := range next.topics {
		next.now = max(next.now, r.Depths.Now)
		if r.Err == nil {
			continue
		}
		if queue.FaultOf(r.Err).OfServer() {
			next.err = r.Err
		}
		r.Depths = before.topics[name].Depths // the last that is known
		next.topics[name] = r
	}
	took := time.Since(began)
	if next.err == nil {
		var pauses map[string]queue.Pause
		if pauses, _, next.unheld = queue.NewPauses(g.eyes, g.cfg.Redis.KeyPrefix).All(ctx); next.unheld == nil {
			next.pauses = pauses
		}
		took = time.Since(began)
		next.memory = readMemory(ctx, g.servers, before.memory)
		next.asked = next.memory.at != before.memory.at
	}
	next.at, next.took = time.Now(), took
	if next.now == 0 && !before.now.IsZero() {
		next.now = before.now.Add(next.at.Sub(before.at))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = next
	return next
}

// readDepths counts the keys of all topics. The age of ready's head is what this sidecar and the others know of it.
func (g *generation) readDepths(ctx context.Context, others []queue.Heartbeat) map[string]queue.DepthsRead {
	stores := make([]*queue.Store, len(g.topics))
	for i, t := range g.topics {
		stores[i] = t.watch
	}
	read := make(map[string]queue.DepthsRead, len(stores))
	for i, r := range queue.DepthsOf(ctx, stores) {
		t := g.topics[i]
		if r.Err == nil {
			r.Depths = t.consumer.Counted(r.Depths, others)
		}
		read[t.name] = r
	}
	return read
}
