package queue_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// startCluster starts a Cluster of two nodes that share the slots.
func startCluster(t *testing.T) [2]*testenv.RedisServer {
	t.Helper()
	var nodes [2]*testenv.RedisServer
	for i := range nodes {
		_, port, _ := net.SplitHostPort(testenv.FreeAddr(t))
		nodes[i] = testenv.Redis(t, "cluster-enabled yes", "cluster-node-timeout 15000", "cluster-port "+port)
	}
	first, second := nodes[0].Client(), nodes[1].Client()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(first.ClusterAddSlotsRange(t.Context(), 0, 8191).Err())
	must(second.ClusterAddSlotsRange(t.Context(), 8192, 16383).Err())
	must(second.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", 2).Err())
	host, port, _ := net.SplitHostPort(nodes[1].Addr)
	bus := first.Do(t.Context(), "CLUSTER", "MEET", host, port, busPort(t, nodes[1])).Err()
	must(bus)
	for _, node := range nodes {
		c := node.Client()
		testenv.Poll(t, patience, "the cluster to form", func() bool {
			info := c.ClusterInfo(t.Context()).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	return nodes
}

func busPort(t *testing.T, node *testenv.RedisServer) string {
	t.Helper()
	conf, err := node.Client().ConfigGet(t.Context(), "cluster-port").Result()
	if err != nil {
		t.Fatal(err)
	}
	return conf["cluster-port"]
}

// C112: keys without a hash tag lie in different slots.
func TestOpenRefusesTopicsWhoseKeysDoNotShareASlot(t *testing.T) {
	cluster := queue.RedisOptions{Addrs: []string{"127.0.0.1:1"}, Cluster: true, Protocol: 3}
	_, err := queue.Open(cluster, []string{"mail", "{sms}", "push"})
	if err == nil || !strings.Contains(err.Error(), `topic "mail"`) || !strings.Contains(err.Error(), "{push}") || strings.Contains(err.Error(), "sms") {
		t.Errorf("got %v, want mail and push refused", err)
	}
	cluster.KeyPrefix = "{app}:"
	rdb, err := queue.Open(cluster, []string{"mail"})
	if err != nil {
		t.Errorf("with a tag in the prefix: %v", err)
	} else {
		_ = rdb.Close()
	}
}

func TestMovesInACluster(t *testing.T) {
	nodes := startCluster(t)
	rdb := open(t, queue.RedisOptions{Addrs: []string{nodes[0].Addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	opts.Topic, opts.Idempotency = "{mail}", queue.IdempotencyOn
	store := queue.NewStore(rdb, "", opts)
	if warnings, err := queue.CheckServer(t.Context(), rdb, "", []string{"{mail}"}); err != nil || len(warnings) != 0 {
		t.Errorf("check: %q, %v", warnings, err)
	}
	if err := store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range 4 {
		if err := store.Push(t.Context(), fmt.Sprintf(`{"uuid":"u%d"}`, i), 0); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := store.Promote(t.Context()); err != nil || p.Promoted != 4 {
		t.Fatalf("promote: %+v, %v", p, err)
	}
	c, err := store.Claim(t.Context(), 4)
	if err != nil || len(c.List) != 4 {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	at := func(i int) queue.Claim { return c.List[i] }
	if _, err := store.Complete(t.Context(), []queue.Completion{{Text: at(0).Text, Held: at(0).Lease, UUID: "u0"}}); err != nil {
		t.Error(err)
	}
	if _, err := store.Requeue(t.Context(), []queue.Requeueing{{Text: at(1).Text, Held: at(1).Lease, NewText: "new", Delay: time.Hour, UUID: "u1"}}); err != nil {
		t.Error(err)
	}
	if _, err := store.Bury(t.Context(), []queue.Burial{{Text: at(2).Text, Held: at(2).Lease, Record: deadRecord(at(2).Text), UUID: "u2"}}); err != nil {
		t.Error(err)
	}
	if done, err := store.DoneBefore(t.Context(), []string{"u0", "u1"}); err != nil || !done[0] || done[1] {
		t.Errorf("done: %v, %v", done, err)
	}
	if r, err := store.Replay(t.Context(), 1, false, time.UTC); err != nil || len(r.Replayed) != 1 {
		t.Errorf("replay: %+v, %v", r, err)
	}
	d, err := store.Depths(t.Context())
	if err != nil || d.Pool != 2 || d.Running != 1 || d.Ready != 0 || d.Dead != 0 {
		t.Errorf("depths: %+v, %v", d, err)
	}
}

// The slot moves to the other node while we work: scripts follow it, and run once.
func TestScriptsFollowAMovedSlot(t *testing.T) {
	nodes := startCluster(t)
	keys := compat.NewDelayKeys("", "{mail}")
	slot := compat.HashSlot(keys.Pool)
	from, to := nodes[0], nodes[1]
	if slot > 8191 {
		from, to = to, from
	}
	rdb := open(t, queue.RedisOptions{Addrs: []string{from.Addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	opts.Topic = "{mail}"
	store := queue.NewStore(rdb, "", opts)
	if err := store.Push(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	source, target := from.Client(), to.Client()
	do := func(c *redis.Client, args ...any) {
		t.Helper()
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	sourceID, targetID := source.ClusterMyID(t.Context()).Val(), target.ClusterMyID(t.Context()).Val()
	do(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
	do(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)

	// On the way: the pool is still here and ready nowhere. No node runs the script, and says so.
	if _, err := store.Promote(t.Context()); queue.FaultOf(err) != queue.TryAgain {
		t.Errorf("while the slot moves: %v, want TRYAGAIN", err)
	}
	host, port, _ := net.SplitHostPort(to.Addr)
	do(source, "MIGRATE", host, port, keys.Pool, 0, 5000)
	// All keys the script names are gone here: ASK, and the new node takes it.
	if err := store.Push(t.Context(), "b", 0); err != nil {
		t.Errorf("asking: %v", err)
	}
	do(target, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
	do(source, "CLUSTER", "SETSLOT", slot, "NODE", targetID)

	p, err := store.Promote(t.Context())
	if err != nil || p.Promoted != 2 {
		t.Fatalf("after the move: %+v, %v, want both promoted", p, err)
	}
	if texts := target.LRange(t.Context(), keys.Ready, 0, -1).Val(); len(texts) != 2 {
		t.Errorf("ready holds %q", texts)
	}
}

// A ClusterClient repeats a script whose reply was cut. It may have run.
func TestScriptsInAClusterAreNotRepeatedAfterACutReply(t *testing.T) {
	nodes := startCluster(t)
	keys := compat.NewDelayKeys("", "{mail}")
	owner := nodes[0]
	if compat.HashSlot(keys.Pool) > 8191 {
		owner = nodes[1]
	}
	direct := owner.Client()
	var cut atomic.Bool
	proxy := newProxy(t, owner.Addr, func(command []string) string {
		if cut.Load() && (command[0] == "evalsha" || command[0] == "eval") {
			return cutReply
		}
		return forward
	})
	// The owner tells the proxy's address for its own.
	host, port, _ := net.SplitHostPort(proxy.addr)
	for name, value := range map[string]string{"cluster-announce-ip": host, "cluster-announce-port": port} {
		if err := direct.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb := open(t, queue.RedisOptions{Addrs: []string{proxy.addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	opts.Topic = "{mail}"
	store := queue.NewStore(rdb, "", opts)
	if err := store.Push(t.Context(), "warm", 0); err != nil {
		t.Fatal(err)
	}
	before := proxy.count("evalsha")
	if before == 0 {
		t.Fatal("the client does not go through the proxy")
	}
	cut.Store(true)
	if err := store.Push(t.Context(), "once", 0); queue.FaultOf(err) != queue.Network {
		t.Errorf("got %v, want a network fault", err)
	}
	if n := proxy.count("evalsha") - before; n != 1 {
		t.Errorf("the script was sent %d times, want once", n)
	}
}

func TestWakerInAClusterLeavesItToPolling(t *testing.T) {
	rdb := open(t, queue.RedisOptions{Addrs: []string{testenv.FreeAddr(t)}, Cluster: true}, "{mail}")
	w := startWaker(t, rdb, "", "{mail}")
	wantQuiet(t, w.Topic("{mail}").Pool, "the pool")
	if w.Active() {
		t.Error("active")
	}
}
