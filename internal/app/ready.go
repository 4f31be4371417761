package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sidecar/queue"
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
	reasons := g.notReady(ctx)
	if a.pulse.Full() { // which holds no job up that is in Redis: the heartbeats say nothing of it
		reasons = append(reasons, "redis: takes no writes of producers, for it is at maxmemory; jobs that are there run on")
	}
	return reasons
}

func (g *generation) notReady(ctx context.Context) []string {
	if reason := g.notStarted(); reason != "" {
		return []string{reason}
	}
	var server outage
	var ofTopics []string
	if len(g.topics) > 0 {
		// A real script on real keys: a PING is answered by servers that can run nothing. The probe's time ends it.
		first := g.topics[0]
		if _, err := first.watch.Claim(ctx, 0); err != nil && !server.takes(first.name, err) {
			ofTopics = append(ofTopics, "redis: "+err.Error())
		}
	}
	ofTopics = append(ofTopics, g.topicsNotReady(&server)...)
	return slices.Concat(server.reasons(), g.poolsNotReady(ctx), ofTopics)
}

// knownReasons is notReady by what is known already: nobody is asked.
func (g *generation) knownReasons() (reasons []string) {
	if reason := g.notStarted(); reason != "" {
		return []string{reason}
	}
	var server outage
	ofTopics := g.topicsNotReady(&server)
	for name, pool := range g.pools {
		if err := pool.Health(); err != nil {
			reasons = append(reasons, queue.PoolReason(name, err))
		}
	}
	return slices.Concat(server.reasons(), reasons, ofTopics)
}

// notStarted returns why no topic is consumed yet, "" when they are.
func (g *generation) notStarted() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.started:
		return ""
	case g.waiting != nil:
		return "redis: " + g.waiting.Error()
	}
	return "starting"
}

// topicsNotReady returns the topics' reasons, but for what server takes.
func (g *generation) topicsNotReady(server *outage) (reasons []string) {
	for _, t := range g.topics {
		for _, err := range t.notReady(server) {
			reasons = append(reasons, queue.TopicReason(t.name, err))
		}
	}
	return reasons
}

// poolsNotReady looks for all pools at once: the probe has not the time for one after the other.
func (g *generation) poolsNotReady(ctx context.Context) (reasons []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, pool := range g.pools {
		wg.Go(func() {
			if err := pool.Check(ctx); err != nil {
				mu.Lock()
				reasons = append(reasons, queue.PoolReason(name, err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return reasons
}

// notReady returns why the topic's jobs would not run now, but for what server takes.
func (t *topic) notReady(server *outage) (reasons []error) {
	if err := t.notWaiting(); err != nil {
		if server.takes(t.name, err) {
			return nil
		}
		return []error{err}
	}
	if err := t.fpm.Health(); err != nil {
		reasons = append(reasons, err)
	}
	h := t.consumer.Health()
	away := false
	for _, err := range []error{h.StallErr, h.ScanErr, h.ClaimErr, h.SettleErr} {
		switch {
		case err == nil:
		case server.takes(t.name, err):
			away = true
		default:
			reasons = append(reasons, err)
		}
	}
	switch idle := time.Since(h.LastScan); {
	case away || len(reasons) > 0: // they say why there is no scan, too
	case h.LastScan.IsZero():
		reasons = append(reasons, errors.New("no scan yet"))
	case idle > scanPatience:
		reasons = append(reasons, fmt.Errorf("no scan for %s", idle.Round(time.Second)))
	}
	return reasons
}
