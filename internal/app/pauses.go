package app

import (
	"context"

	"sidecar/queue"
)

// newPauseWatch returns what tells the generation's topics that they are paused.
func (g *generation) newPauseWatch() *queue.PauseWatch {
	consumers := make(map[string]*queue.Consumer, len(g.topics))
	for _, t := range g.topics {
		consumers[t.name] = t.consumer
	}
	return queue.NewPauseWatch(queue.NewPauses(g.rdb, g.cfg.Redis.KeyPrefix), consumers, g.log)
}

// awaitPauses returns when it is known what is paused, so that a topic which is does not begin with a claim, or when that
// will not be known: who may not read it consumes all the same (docs/decisions/0023). It reports false when ctx ends first.
func (g *generation) awaitPauses(ctx context.Context) bool {
	return g.await(ctx, "what is paused", func() error {
		if err := g.pauses.Look(ctx); queue.FaultOf(err).OfServer() {
			return err
		}
		return nil
	}, g.setWaiting)
}
