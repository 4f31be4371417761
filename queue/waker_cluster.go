package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ownersLook is how often the Waker asks who has the topics' slots now. That is answered from the client's memory,
// which every MOVED and every lost node brings up to date.
const ownersLook = time.Second

// runInCluster listens at each node that has a topic's slot, since a node tells of its own keys only, and goes to others
// when slots move and nodes fail.
func (w *Waker) runInCluster(ctx context.Context, cluster *redis.ClusterClient) {
	var running sync.WaitGroup
	defer running.Wait()
	ears := make(map[*redis.Client]ear)
	tick := time.NewTicker(ownersLook)
	defer tick.Stop()
	for {
		if owners, err := w.owners(ctx, cluster); err == nil { // else nobody knows better than before
			w.listenAt(ctx, owners, ears, &running)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ear is a listener that runs.
type ear struct {
	*listener
	stop context.CancelFunc
}

// owners returns the nodes that have the topics' slots, each once.
func (w *Waker) owners(ctx context.Context, cluster *redis.ClusterClient) ([]*redis.Client, error) {
	var nodes []*redis.Client
	for _, pool := range w.pools {
		node, err := cluster.MasterForKey(ctx, pool)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// listenAt starts a listener at each owner that has none and stops those at other nodes.
func (w *Waker) listenAt(ctx context.Context, owners []*redis.Client, ears map[*redis.Client]ear, running *sync.WaitGroup) {
	for node, e := range ears {
		if !slices.Contains(owners, node) {
			e.stop()
			delete(ears, node)
		}
	}
	all := make([]*listener, 0, len(owners))
	for _, node := range owners {
		e, ok := ears[node]
		if !ok {
			here, stop := context.WithCancel(ctx)
			e = ear{w.listener(node), stop}
			e.log = e.log.With("node", node.Options().Addr)
			ears[node] = e
			running.Go(func() { defer stop(); e.run(here) })
		}
		all = append(all, e.listener)
	}
	w.listening.Store(&all)
}
