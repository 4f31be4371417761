package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// DangerKind says what a Danger is about.
type DangerKind int

// The kinds.
const (
	// NodeOfCluster: the server is a node of a Cluster, and the configuration takes it for one that stands alone.
	NodeOfCluster DangerKind = iota + 1
	// NoMaster: nothing can be moved there.
	NoMaster
	// SeveralMasters: one job may be claimed on each of them.
	SeveralMasters
	// EvictsQueues: the server throws keys away when its memory is full.
	EvictsQueues
	// EvictsMarks: … those with a time to live.
	EvictsMarks
	// EvictionUnknown: whether it does could not be asked.
	EvictionUnknown
	// ClockOff: this host's clock and Redis's differ.
	ClockOff
	// OtherPrefix: a topic has no keys, but some have a prefix before its names.
	OtherPrefix
)

// Danger is something about a server, or a topic's keys there, that works and may do harm.
type Danger struct {
	Kind  DangerKind
	Node  string // the server's address, where there are several
	Topic string // of OtherPrefix
	Text  string // what was found, with the node in front, and what is wanted
}

// Nodes returns a client for each server that holds keys: of a Cluster its masters, else the one there is.
func Nodes(ctx context.Context, rdb redis.UniversalClient) ([]redis.UniversalClient, error) {
	return servers(ctx, rdb)
}

// InfoOf reads a server's INFO; it is empty when this user may not.
func InfoOf(ctx context.Context, node redis.UniversalClient) map[string]string {
	return serverInfo(ctx, node)
}

// roleDangers are about servers on which a job may be claimed twice, or not at all.
func roleDangers(info map[string]string) []Danger {
	switch role := info["role"]; role {
	case "", "master":
		return nil
	case "active-replica":
		return []Danger{{Kind: SeveralMasters, Text: "redis is an active replica: with several servers that take writes one job may be claimed on each of them, single delivery cannot be promised"}}
	default:
		return []Danger{{Kind: NoMaster, Text: "redis is a " + role + ": nothing can be moved until it is promoted"}}
	}
}

// evictionDangers are about a server that throws keys away when its memory is full.
func evictionDangers(ctx context.Context, rdb redis.UniversalClient, info map[string]string) []Danger {
	policy := info["maxmemory_policy"]
	if policy == "" {
		conf, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
		if policy = conf["maxmemory-policy"]; err != nil || policy == "" {
			return []Danger{{Kind: EvictionUnknown, Text: "cannot tell whether redis may evict the queues' keys: " + untold(info) + "; want maxmemory-policy noeviction"}}
		}
	}
	switch {
	case policy == "noeviction":
		return nil
	case strings.HasPrefix(policy, "volatile-"):
		return []Danger{{Kind: EvictsMarks, Text: "maxmemory-policy is " + policy + ": when memory is full redis may evict idempotency marks, and any queue key that somebody gave a time to live; want noeviction"}}
	}
	return []Danger{{Kind: EvictsQueues, Text: "maxmemory-policy is " + policy + ": when memory is full redis evicts whole queues, jobs and all; want noeviction"}}
}

// untold says why the policy is not known, and which right is enough to know it.
func untold(info map[string]string) string {
	if len(info) == 0 {
		return "this user may not run INFO, which is enough to tell (CONFIG is not needed)"
	}
	return "INFO does not say, and this user may not run CONFIG GET"
}

// skewMost is how far this host's clock may be off Redis's until the operator is told.
const skewMost = 2 * time.Second

// skewDangers tell of a host whose clock is wrong. The sidecar does not use it, but PHP here does when it writes due
// times by its own clock, and scripts are told their deadline by it.
func skewDangers(ctx context.Context, rdb redis.UniversalClient) []Danger {
	sent := time.Now()
	server, err := rdb.Time(ctx).Result()
	if err != nil {
		return nil // whoever may not ask for the time is told so by the check of the topic's keys
	}
	off := sent.Add(time.Since(sent) / 2).Sub(server)
	if off.Abs() <= skewMost {
		return nil
	}
	direction := "ahead of"
	if off < 0 {
		direction = "behind"
	}
	return []Danger{{Kind: ClockOff, Text: fmt.Sprintf("this host's clock is %s %s redis's: due times and leases go by redis's, but producers on this host that write due times by their own clock are that much off",
		off.Abs().Round(time.Second), direction)}}
}
