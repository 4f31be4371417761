package pulse

import (
	"context"
	"time"

	"sidecar/queue"
)

// Kept says whether Redis keeps what is written. Heartbeats show it, as no one but their sidecar writes or takes away a young one.
type Kept struct {
	Beats   int // how many of ours have found the one before, and so all that lay in Redis then
	Emptied int // how often it was gone, and all minutes with it: keys are deleted one by one, both go with FLUSHALL or older data
}

// Kept returns what is known of that now.
func (p *Pulse) Kept() Kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

// silentMost is for how long at most nothing came from us where it tells something that our last heartbeat is gone: others forget who is
// silent for a day, minutes end by themselves, and what lay in the queues so long ago may have run on other sidecars.
const silentMost = 10 * time.Minute

// judge takes in what our heartbeat has found in s; before is when the one before was written.
func (p *Pulse) judge(ctx context.Context, s *Server, before time.Time) {
	b := p.own
	known := p.met == *s
	if p.met = *s; !known {
		p.published = false
	}
	emptied := false
	if b.Anew {
		if !p.published || b.At.Sub(before) > silentMost {
			return // nothing follows: it is our first one there, or nothing but heartbeats might be gone
		}
		there, err := queue.NewMinutes(s.Redis, s.Prefix).Any(ctx, b.Instance)
		if err != nil || there {
			return
		}
		emptied, p.published = true, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if emptied {
		p.kept.Emptied++
	} else {
		p.kept.Beats++
	}
}
