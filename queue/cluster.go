package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// How often, and after which pause, a script is sent anew while a Cluster moves its slot.
const (
	clusterTries = 5
	clusterPause = 20 * time.Millisecond
)

// errFound ends a walk over the nodes of a Cluster.
var errFound = errors.New("found")

// runInCluster runs the script on the node that holds its slot. A ClusterClient would repeat it there
// after a cut reply, which may be the second run (DESIGN 8), so this goes through the
// node's own client, and only a node that said it ran nothing is asked again, or another one. After any other error
// it is for the next call to find whoever has the slot by then.
func (s script) runInCluster(ctx context.Context, cluster *redis.ClusterClient, keys []string, args []any) (reply any, err error) {
	for range clusterTries {
		node, nodeErr := cluster.MasterForKey(ctx, keys[0])
		if nodeErr != nil {
			return nil, nodeErr
		}
		reply, err = s.eval(ctx, node, keys, args)
		if target, ok := askTarget(err); ok {
			reply, err = s.evalAsking(ctx, cluster, target, keys, args)
		}
		if fault := FaultOf(err); fault != Moved && fault != TryAgain {
			if slotMayHaveMoved(fault) {
				cluster.ReloadState(ctx)
			}
			return reply, err
		}
		if !pause(ctx, clusterPause) {
			return nil, err
		}
		// Walking the masters loads the slots anew, at once and not some time later.
		_ = cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	}
	return reply, err
}

// slotMayHaveMoved reports that a fault may mean a failover: another node has the slot then, or soon will, and the
// node that had it cannot say so.
func slotMayHaveMoved(fault Fault) bool {
	switch fault { //nolint:exhaustive // the others come from a node that serves
	case Network, ClusterDown, ReadOnly, Loading:
		return true
	}
	return false
}

// servers returns a client for each server that holds keys: of a Cluster its masters, else the one there is.
func servers(ctx context.Context, rdb redis.UniversalClient) ([]redis.UniversalClient, error) {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return []redis.UniversalClient{rdb}, nil
	}
	var mu sync.Mutex
	var masters []redis.UniversalClient
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, node)
		return nil
	})
	return masters, err
}

// askTarget returns the node that a slot's keys are on their way to, from "ASK 3999 127.0.0.1:6381".
func askTarget(err error) (addr string, ok bool) {
	if err == nil {
		return "", false
	}
	fields := strings.Fields(err.Error())
	if len(fields) != 3 || fields[0] != "ASK" {
		return "", false
	}
	return fields[2], true
}

// evalAsking runs the script on the node at addr, which takes it for this one time. A node that has no slot
// yet is not known here: then the error is TRYAGAIN, until the slot has moved.
func (s script) evalAsking(ctx context.Context, cluster *redis.ClusterClient, addr string, keys []string, args []any) (any, error) {
	var node *redis.Client
	found := make(chan *redis.Client, 1)
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		if c.Options().Addr != addr {
			return nil
		}
		select {
		case found <- c:
		default:
		}
		return errFound
	})
	select {
	case node = <-found:
	default:
		return nil, errTryAgain
	}
	pipe := node.Pipeline()
	pipe.Do(ctx, "ASKING")
	cmd := pipe.Eval(ctx, s.source, keys, args...)
	_, err := pipe.Exec(ctx)
	if err != nil && cmd.Err() == nil {
		return nil, err
	}
	return cmd.Result()
}

// errTryAgain stands for the reply of a node that was not asked.
var errTryAgain = errors.New("TRYAGAIN slot is on its way to a node that is not known yet")
