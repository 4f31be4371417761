package pulse

import (
	"time"

	"sidecar/queue"
)

// History returns the last hour of all sidecars together.
func (p *Pulse) History() History { return *p.history.Load() }

// Full reports that Redis refused what producers write when this sidecar said last that it lives, for want of memory.
func (p *Pulse) Full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Full && time.Since(p.at) < queue.LostAfter // of a Redis that is away since nothing is known
}

// Alive returns the sidecars that were heard of within a day, and Redis's time; zero before it has told it.
func (p *Pulse) Alive() (list []queue.Heartbeat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.now.At.IsZero() {
		now = p.now.At.Add(time.Since(p.at))
	}
	return p.alive, now
}
