package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

// clusterMasters is how many masters share the slots: the fewest that can vote one of them down.
const clusterMasters = 3

// formTimeout is how long a Cluster or Sentinels may take until all of them know each other.
const formTimeout = 60 * time.Second

// RedisCluster is a private Redis Cluster of three masters, each with a replica where that was asked for.
type RedisCluster struct {
	Nodes []*RedisServer // the masters as begun, in the order of their slots, then their replicas in the same order

	t testing.TB
}

// Cluster starts a Redis Cluster of three masters, each with a replica if replicated is set. Each option is one line of
// every node's redis.conf. It returns when every node knows all others and takes writes.
func Cluster(t testing.TB, replicated bool, options ...string) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t}
	n := clusterMasters
	if replicated {
		n *= 2
	}
	for range n {
		_, port, _ := net.SplitHostPort(FreeAddr(t))
		lines := append([]string{"cluster-enabled yes", "cluster-port " + port, "repl-diskless-sync-delay 0"}, options...)
		c.Nodes = append(c.Nodes, Redis(t, lines...))
	}
	c.introduce()
	c.await("the cluster to form", func(node *redis.Client) bool {
		return strings.Contains(node.ClusterInfo(context.Background()).Val(), "cluster_state:ok")
	})
	for _, replica := range c.Nodes[clusterMasters:] {
		replica.AwaitReplication()
	}
	return c
}

// introduce starts the nodes again with a cluster-config-file that tells each all about all: by gossip alone they would
// take a quarter of a minute until everybody knows who is whose replica.
func (c *RedisCluster) introduce() {
	c.t.Helper()
	const slots = 16384
	lines := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		home := i % clusterMasters
		lines[i] = fmt.Sprintf("%s %s@%s", node.nodeID(), node.Addr, node.conf("cluster-port"))
		if i < clusterMasters {
			lines[i] += fmt.Sprintf(" master - 0 0 %d connected %d-%d", i+1, i*slots/clusterMasters, (i+1)*slots/clusterMasters-1)
		} else {
			lines[i] += fmt.Sprintf(" slave %s 0 0 %d connected", c.Nodes[home].nodeID(), home+1)
		}
	}
	for i, node := range c.Nodes {
		node.Kill()
		known := slices.Clone(lines)
		known[i] = strings.Replace(strings.Replace(known[i], " master ", " myself,master ", 1), " slave ", " myself,slave ", 1)
		text := strings.Join(known, "\n") + "\n" + fmt.Sprintf("vars currentEpoch %d lastVoteEpoch 0\n", clusterMasters)
		if err := os.WriteFile(filepath.Join(node.Dir, "nodes.conf"), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, node := range c.Nodes {
		node.Start()
	}
}

func (c *RedisCluster) await(what string, done func(*redis.Client) bool) {
	c.t.Helper()
	for _, node := range c.Nodes {
		client := node.Client()
		Poll(c.t, formTimeout, what, func() bool { return done(client) })
	}
}

// Addrs returns the address of every node.
func (c *RedisCluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr
	}
	return addrs
}

// Client returns a client of the test's own, which is closed with the test. It follows slots wherever they go.
func (c *RedisCluster) Client() *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), MaxRedirects: 8, DisableIdentity: true,
		ClusterStateReloadInterval: time.Second, // or it asks a dead node for a minute
	})
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Replica returns the node that was begun as the replica of master i.
func (c *RedisCluster) Replica(i int) *RedisServer { return c.Nodes[clusterMasters+i] }

// Home returns which of the three masters was begun with the slot of key.
func (c *RedisCluster) Home(key string) int {
	return min(compat.HashSlot(key)*clusterMasters/16384, clusterMasters-1)
}

// SlotMove is a slot on its way from one master to another, step by step as redis-cli does it.
type SlotMove struct {
	c        *RedisCluster
	slot     int
	from, to *RedisServer
}

// Move begins to move the slot of key from master i to master j: from now on the old owner answers ASK for keys that
// it has not, and TRYAGAIN where it has only some of them.
func (c *RedisCluster) Move(key string, i, j int) *SlotMove {
	c.t.Helper()
	m := &SlotMove{c: c, slot: compat.HashSlot(key), from: c.Nodes[i], to: c.Nodes[j]}
	Do(c.t, m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.nodeID())
	Do(c.t, m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.to.nodeID())
	return m
}

// Keys takes one key after the other to the new owner until the old one has none, and calls after with each.
func (m *SlotMove) Keys(after func(key string)) {
	m.c.t.Helper()
	host, port, _ := net.SplitHostPort(m.to.Addr)
	from := m.from.Client()
	for {
		keys, err := from.ClusterGetKeysInSlot(context.Background(), m.slot, 1).Result()
		if err != nil {
			m.c.t.Fatal(err)
		}
		if len(keys) == 0 {
			return
		}
		Do(m.c.t, m.from, "MIGRATE", host, port, keys[0], 0, 5000, "REPLACE") // NOKEY where it was emptied meanwhile
		after(keys[0])
	}
}

// Finish gives the slot to its new owner: from now on the old one answers MOVED.
func (m *SlotMove) Finish() {
	m.c.t.Helper()
	id := m.to.nodeID()
	Do(m.c.t, m.to, "CLUSTER", "SETSLOT", m.slot, "NODE", id)
	for _, node := range m.c.Nodes[:clusterMasters] {
		if node != m.to {
			Do(m.c.t, node, "CLUSTER", "SETSLOT", m.slot, "NODE", id)
		}
	}
}

func (s *RedisServer) nodeID() string {
	s.t.Helper()
	return Do(s.t, s, "CLUSTER", "MYID").(string)
}
