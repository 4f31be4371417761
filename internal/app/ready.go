package app

import (
	"context"
	"fmt"
	"time"
)

// scanPatience is how long a topic may go without a scan before the sidecar calls itself not ready. It is far
// above the slowest poll of an idle scanner.
const scanPatience = 30 * time.Second

// notReady returns every reason why jobs would not run now: readiness tells the truth or is worth nothing.
func (a *app) notReady(ctx context.Context) []string {
	a.mu.Lock()
	g, stopping := a.current, a.stopping
	a.mu.Unlock()
	switch {
	case stopping:
		return []string{"stopping"}
	case g == nil:
		return []string{"starting"}
	}
	return g.notReady(ctx)
}

func (g *generation) notReady(ctx context.Context) []string {
	g.mu.Lock()
	started, waiting := g.started, g.waiting
	g.mu.Unlock()
	if !started {
		if waiting != nil {
			return []string{"redis: " + waiting.Error()}
		}
		return []string{"starting"}
	}
	var reasons []string
	if len(g.topics) > 0 {
		// A real script on real keys: a PING is answered by servers that can run nothing.
		if _, err := g.topics[0].store.Claim(ctx, 0); err != nil {
			reasons = append(reasons, "redis: "+err.Error())
		}
	}
	for name, pool := range g.pools {
		if err := pool.Health(); err != nil {
			reasons = append(reasons, fmt.Sprintf("fpm pool %q: %v", name, err))
		}
	}
	for _, t := range g.topics {
		if err := t.fpm.Health(); err != nil {
			reasons = append(reasons, fmt.Sprintf("topic %q: %v", t.name, err))
		}
		h := t.consumer.Health()
		switch {
		case h.ScanErr != nil:
			reasons = append(reasons, fmt.Sprintf("topic %q: scan: %v", t.name, h.ScanErr))
		case time.Since(h.LastScan) > scanPatience:
			reasons = append(reasons, fmt.Sprintf("topic %q: no scan for %s", t.name, time.Since(h.LastScan).Round(time.Second)))
		}
	}
	return reasons
}
