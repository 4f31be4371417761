package pulse

import (
	"context"

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

// judge takes in what b, which was just written to s, has found there.
func (p *Pulse) judge(ctx context.Context, s *Server, b queue.Heartbeat) {
	known := p.met == *s
	if p.met = *s; !known {
		p.published = false
	}
	emptied := false
	if b.Anew {
		if !p.published {
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
