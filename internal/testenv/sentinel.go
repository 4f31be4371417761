package testenv

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
)

// sentinels is how many Sentinels watch: the fewest that can decide when one of them is gone.
const sentinels = 3

// SentinelSet is a private master with its replica, and three Sentinels that watch them.
type SentinelSet struct {
	Name            string       // of the master, for the Sentinels
	Master, Replica *RedisServer // as they began
	Watchers        []*RedisServer

	t testing.TB
}

// SentinelTrio starts a master, its replica and three Sentinels that know all of them. Each option is one line of both
// servers' redis.conf. The Sentinels fail nobody over by themselves until Watch is called, so that no slow machine
// brings a failover of its own.
func SentinelTrio(t testing.TB, options ...string) *SentinelSet {
	t.Helper()
	s := &SentinelSet{Name: "jobs", t: t, Master: Redis(t, append([]string{"repl-diskless-sync-delay 0"}, options...)...)}
	host, port, _ := net.SplitHostPort(s.Master.Addr)
	s.Replica = Redis(t, append([]string{"repl-diskless-sync-delay 0", "replicaof " + host + " " + port}, options...)...)
	s.Replica.AwaitReplication()
	for range sentinels {
		s.Watchers = append(s.Watchers, start(t, []string{"--sentinel"},
			fmt.Sprintf("sentinel monitor %s %s %s %d", s.Name, host, port, sentinels/2+1),
			fmt.Sprintf("sentinel down-after-milliseconds %s 600000", s.Name),
			fmt.Sprintf("sentinel failover-timeout %s 20000", s.Name)))
	}
	for _, w := range s.Watchers {
		Poll(t, formTimeout, "the Sentinels to know each other", func() bool {
			info := w.Client().Info(context.Background(), "sentinel").Val()
			return strings.Contains(info, fmt.Sprintf("slaves=1,sentinels=%d", sentinels))
		})
	}
	return s
}

// Addrs returns the addresses of the Sentinels.
func (s *SentinelSet) Addrs() []string {
	addrs := make([]string, len(s.Watchers))
	for i, w := range s.Watchers {
		addrs[i] = w.Addr
	}
	return addrs
}

// Watch has the Sentinels fail a dead master over within about two seconds.
func (s *SentinelSet) Watch() {
	s.t.Helper()
	for _, w := range s.Watchers {
		Do(s.t, w, "SENTINEL", "SET", s.Name, "down-after-milliseconds", "500")
	}
}

// Failover has the Sentinels promote the replica while the master lives, as an operator does before maintenance.
func (s *SentinelSet) Failover() {
	s.t.Helper()
	Do(s.t, s.Watchers[0], "SENTINEL", "FAILOVER", s.Name)
}

// AwaitPromotion waits until the server is the master that every Sentinel names.
func (s *SentinelSet) AwaitPromotion(promoted *RedisServer) {
	s.t.Helper()
	for _, w := range s.Watchers {
		Poll(s.t, formTimeout, "the Sentinels to name the promoted server", func() bool {
			named, _ := w.Client().Do(context.Background(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name).StringSlice()
			return len(named) == 2 && net.JoinHostPort(named[0], named[1]) == promoted.Addr
		})
	}
	Poll(s.t, formTimeout, "the promoted server to take writes", promoted.IsMaster)
}
