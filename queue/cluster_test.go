package queue_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// C112: keys without a hash tag lie in different slots.
func TestOpenRefusesTopicsWhoseKeysDoNotShareASlot(t *testing.T) {
	cluster := queue.RedisOptions{Addrs: []string{"127.0.0.1:1"}, Cluster: true, Protocol: 3}
	_, err := queue.Open(cluster, topicsOf("mail", "{sms}", "push"))
	if err == nil || !strings.Contains(err.Error(), `topic "mail"`) || !strings.Contains(err.Error(), "{push}") || strings.Contains(err.Error(), "sms") {
		t.Errorf("got %v, want mail and push refused", err)
	}
	cluster.KeyPrefix = "{app}:"
	rdb, err := queue.Open(cluster, topicsOf("mail"))
	if err != nil {
		t.Errorf("with a tag in the prefix: %v", err)
	} else {
		_ = rdb.Close()
	}
}

func TestMovesInACluster(t *testing.T) {
	t.Parallel()
	nodes := testenv.Cluster(t, false).Nodes
	rdb := open(t, queue.RedisOptions{Addrs: []string{nodes[0].Addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	opts.Topic, opts.Idempotency = "{mail}", queue.IdempotencyOn
	store := queue.NewStore(rdb, "", opts)
	if warnings, err := queue.CheckServer(t.Context(), rdb, "", topicsOf("{mail}")); err != nil || len(warnings) != 0 {
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
	opts.Topic = "mail"
	for dead, s := range map[string]*queue.Store{"delay:dead:{mail}": store, "{shop}delay:dead:mail": queue.NewStore(rdb, "{shop}", opts)} {
		if err := rdb.RPush(t.Context(), dead, deadRecord(`{"uuid":"a"}`), deadRecord(`{"uuid":"b"}`), deadRecord(`{"uuid":"c"}`)).Err(); err != nil {
			t.Fatal(err)
		}
		if err := useSingleJobs(t, s); err != nil {
			t.Errorf("%s: %v", dead, err)
		}
		replayOne(t, s, deadOf(t, s, "b"), queue.ReplayOptions{})
	}
	if err := queue.NewAudit(rdb, "shop_").Add(t.Context(), queue.Audited{Verb: "drop"}); err != nil {
		t.Error(err)
	}
}

// The slot moves to another node while we work: scripts follow it, and run once.
func TestScriptsFollowAMovedSlot(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	keys := compat.NewDelayKeys("", "{mail}")
	from := c.Home(keys.Pool)
	to := (from + 1) % 3
	rdb := open(t, queue.RedisOptions{Addrs: []string{c.Nodes[from].Addr}, Cluster: true}, "{mail}")
	opts := queue.DefaultOptions()
	opts.Topic = "{mail}"
	store := queue.NewStore(rdb, "", opts)
	if err := store.Push(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	move := c.Move(keys.Pool, from, to)

	// On the way: the pool is still here and ready nowhere. No node runs the script, and says so.
	if _, err := store.Promote(t.Context()); queue.FaultOf(err) != queue.TryAgain {
		t.Errorf("while the slot moves: %v, want TRYAGAIN", err)
	}
	// All keys the script names are gone here: ASK, and the new node takes it.
	move.Keys(func(string) {})
	if err := store.Push(t.Context(), "b", 0); err != nil {
		t.Errorf("asking: %v", err)
	}
	move.Finish()

	p, err := store.Promote(t.Context())
	if err != nil || p.Promoted != 2 {
		t.Fatalf("after the move: %+v, %v, want both promoted", p, err)
	}
	if texts := c.Nodes[to].Client().LRange(t.Context(), keys.Ready, 0, -1).Val(); len(texts) != 2 {
		t.Errorf("ready holds %q", texts)
	}
}

// A ClusterClient repeats a script whose reply was cut. It may have run.
func TestScriptsInAClusterAreNotRepeatedAfterACutReply(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	owner := c.Nodes[c.Home("delay:pool:{mail}")]
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

func TestWakerOfAClusterThatIsAwayLeavesItToPolling(t *testing.T) {
	rdb := open(t, queue.RedisOptions{Addrs: []string{testenv.FreeAddr(t)}, Cluster: true}, "{mail}")
	w := startWaker(t, rdb, "", "{mail}")
	wantQuiet(t, w.Topic("{mail}").Pool, "the pool")
	if w.Active() {
		t.Error("active")
	}
}

// C112: at run time, too, it is said what is wrong when a Cluster is taken for a server that stands alone, or the
// other way round.
func TestCheckTellsAClusterFromAServerThatStandsAlone(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	other := c.Nodes[(c.Home("delay:pool:{mail}")+1)%3]
	single := open(t, queue.RedisOptions{URL: other.URL()}, "mail")
	warnings, err := queue.CheckServer(t.Context(), single, "", topicsOf("mail"))
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, "node of a Cluster", "cluster = true")
	for topic, want := range map[string]string{"mail": "CROSSSLOT", "{mail}": "MOVED"} {
		opts := queue.DefaultOptions()
		opts.Topic = topic
		err := queue.NewStore(single, "", opts).Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cluster = true") || !strings.Contains(err.Error(), "hash tag") {
			t.Errorf("topic %s: %v, want %s and what mends it", topic, err, want)
		}
	}
	alone := open(t, queue.RedisOptions{Addrs: []string{testenv.Redis(t).Addr}, Cluster: true}, "{mail}")
	_, err = queue.CheckServer(t.Context(), alone, "", topicsOf("{mail}"))
	if err == nil || !strings.Contains(err.Error(), "this server stands alone") {
		t.Errorf("a server alone: %v", err)
	}
}

// A setting that is wrong on one node only is found, and a key with a prefix on any node.
func TestCheckLooksAtEveryNodeOfACluster(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	rdb := open(t, queue.RedisOptions{Addrs: []string{c.Nodes[0].Addr}, Cluster: true}, "{mail}")
	testenv.Do(t, c.Nodes[2], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	key := "app:delay:pool:{mail}"
	testenv.Do(t, c.Nodes[c.Home(key)], "ZADD", key, 1, "x")
	warnings, err := queue.CheckServer(t.Context(), rdb, "", topicsOf("{mail}"))
	if err != nil || len(warnings) != 2 {
		t.Errorf("got %q, %v, want two warnings", warnings, err)
	}
	wantWarning(t, warnings, c.Nodes[2].Addr+": maxmemory-policy is allkeys-lru")
	wantWarning(t, warnings, key, "key_prefix")
}
