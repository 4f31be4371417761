package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// clusterRig is a shop whose Redis is a Cluster, with one topic on each of its three masters.
type clusterRig struct {
	*rig
	cluster *testenv.RedisCluster
	rdb     *redis.ClusterClient
	topics  []string // in the order of the masters
	pushed  []string // uuids
}

func startCluster(t *testing.T, replicated bool) *clusterRig {
	t.Helper()
	c := testenv.Cluster(t, replicated)
	r := &clusterRig{
		rig:     newRigOn(t, testenv.FPMOptions{Children: 4}, c.Nodes[0]),
		cluster: c, rdb: c.Client(), topics: make([]string, 3),
	}
	for n := range 26 { // the last one of each node's
		name := fmt.Sprintf("{%c}", 'a'+n)
		r.topics[c.Home("delay:pool:"+name)] = name
	}
	return r
}

// config writes a sidecar.toml for all topics that finds the Cluster by addrs.
func (r *clusterRig) config(addrs []string, topicExtra string) string {
	r.t.Helper()
	var topics strings.Builder
	for _, name := range r.topics {
		fmt.Fprintf(&topics, "[topic.%q]\nscript = %q\n%s\n", name, filepath.Join(r.dir, r.script), topicExtra)
	}
	return r.write("sidecar.toml", fmt.Sprintf(`
[admin]
listen = "127.0.0.1:0"

[redis]
addrs = [%s]
cluster = true

[fpm.default]
listen = %q
children = %d
bridge_dir = %q

%s`, quoted(addrs), r.fpm.Listen, r.children, filepath.Join(r.fpm.Dir, "bridge"), &topics))
}

// add pushes count jobs to each topic, one in failEvery failing once; their uuids begin with name.
func (r *clusterRig) add(name string, count, sleepMS, failEvery int) {
	r.t.Helper()
	for i := range count {
		for _, topic := range r.topics {
			uuid := fmt.Sprintf("%s-%s-%d", name, strings.Trim(topic, "{}"), i)
			text := fmt.Sprintf(`{"uuid":%q,"sleep_ms":%d,"fail_once":%t}`, uuid, sleepMS, failEvery > 0 && i%failEvery == 0)
			if err := r.rdb.ZAdd(context.Background(), "delay:pool:"+topic, redis.Z{Score: 1, Member: text}).Err(); err != nil {
				r.t.Fatal(err)
			}
			r.pushed = append(r.pushed, uuid)
		}
	}
}

// wantEmpty waits until no topic has a job in any key.
func (r *clusterRig) wantEmpty(within time.Duration) {
	r.t.Helper()
	ctx := context.Background()
	eventually(r.t, within, func() error {
		for _, topic := range r.topics {
			for _, role := range []string{"pool", "ready", "running", "dead"} {
				n, err := r.rdb.Exists(ctx, "delay:"+role+":"+topic).Result()
				if err != nil || n != 0 {
					return fmt.Errorf("delay:%s:%s is still there: %w", role, topic, err)
				}
			}
		}
		return nil
	})
}

// wantFault waits until the sidecar has met a fault of that name in the topic.
func (p *instance) wantFault(topic, fault string, within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, func() error {
		_, body, err := p.get("/metrics")
		if err != nil {
			return err
		}
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "sidecar_redis_errors_total{") && strings.Contains(line, fmt.Sprintf("fault=%q", fault)) &&
				strings.Contains(line, fmt.Sprintf("topic=%q", topic)) && !strings.HasSuffix(strings.TrimSpace(line), " 0") {
				return nil
			}
		}
		return fmt.Errorf("no %s met in %s yet", fault, topic)
	})
}

// A slot moves under load: first no node runs a script (TRYAGAIN), then the new one does for those who ask for it
// (ASK), then the old one sends everybody there (MOVED).
func TestASlotThatMovesUnderLoadCostsNothing(t *testing.T) {
	t.Parallel()
	r := startCluster(t, false)
	r.add("before", 150, 10, 20)
	config := r.config(r.cluster.Addrs()[:1], `retry = ["300ms"]`)
	p := r.start(config)
	r.wantStarted(60)

	moving := r.topics[0]
	move := r.cluster.Move("delay:pool:"+moving, 0, 1)
	p.wantFault(moving, "tryagain", 20*time.Second)
	move.Keys(func(string) {})
	r.verb(0, config, "push", moving, `{"uuid":"asked"}`) // it has one key only, so the new owner takes it
	r.pushed = append(r.pushed, "asked")
	move.Finish()
	r.add("after", 20, 0, 0)
	r.wantEmpty(time.Minute)
	p.wantReady(10 * time.Second)
	r.wantOneRunEach(len(r.pushed))
	if n := r.retried(); n != len(r.topics)*8 {
		t.Errorf("%d runs had a try counted, want one for each job that failed once", n)
	}
}

// A node is killed under load and its replica elected.
func TestANodeThatFailsCostsOnlyWhatItsReplicaDidNotHave(t *testing.T) {
	t.Parallel()
	r := startCluster(t, true)
	r.add("job", 100, 10, 0)
	dead, heir := r.cluster.Nodes[1], r.cluster.Replica(1)
	heir.AwaitCopy(dead)
	p := r.start(r.config(r.cluster.Addrs()[:2], "lease = \"3s\"\nretry = [\"200ms\"]"))
	r.wantStarted(60)
	dead.Kill()
	heir.AwaitLinkDown()
	reading := heir.Client().Conn() // a replica shows its keys to those only who say that they know what it is
	defer func() { _ = reading.Close() }()
	if err := reading.ReadOnly(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	gone := failover{kept: uuidsOn(t, reading, r.topics[1]), begun: r.begun("job-" + strings.Trim(r.topics[1], "{}") + "-")}
	timeout := func(ms int) {
		for _, node := range slices.Concat(r.cluster.Nodes[:1], r.cluster.Nodes[2:]) {
			testenv.Do(t, node, "CONFIG", "SET", "cluster-node-timeout", ms)
		}
	}
	timeout(1500)
	testenv.Poll(t, time.Minute, "the replica to be elected", heir.IsMaster)
	timeout(60000) // no second failover on a slow machine

	r.rdb = r.cluster.Client()
	r.wantEmpty(time.Minute)
	p.wantReady(10 * time.Second)
	r.wantNothingLost(gone, r.pushed, never)
	r.wantNoRetries()
	eventually(t, 30*time.Second, func() error {
		if !heir.HasTracking() {
			return fmt.Errorf("the new owner is not asked to tell of changes")
		}
		return nil
	})
}

// Each node is known by the address of a proxy, which now and then lets it run a script and cuts the reply. A script
// that ran twice would count a try twice, bury twice, or lose a claim's jobs.
func TestCutRepliesOnAClusterMakeNoScriptRunTwice(t *testing.T) {
	t.Parallel()
	const jobs, broken = 24, 3
	r := startCluster(t, false)
	var cutting atomic.Bool
	var cuts atomic.Int64
	var addrs []string
	for _, node := range r.cluster.Nodes {
		relay := testenv.NewRelay(t, func() string { return node.Addr }, func(command []string) string {
			if command[0] == "evalsha" && cutting.Load() && rand.IntN(6) == 0 {
				cuts.Add(1)
				return testenv.CutReply
			}
			return testenv.Forward
		})
		addrs = append(addrs, relay.Addr)
		host, port, _ := net.SplitHostPort(relay.Addr)
		testenv.Do(t, node, "CONFIG", "SET", "cluster-announce-ip", host)
		testenv.Do(t, node, "CONFIG", "SET", "cluster-announce-port", port)
	}
	p := r.start(r.config(addrs, "lease = \"3s\"\nretry = [\"100ms\"]"))
	p.wantReady(20 * time.Second)
	cutting.Store(true)
	r.add("job", jobs, 0, 2)
	for i := range broken {
		for _, topic := range r.topics {
			text := fmt.Sprintf(`{"uuid":"broken-%s-%d","fail":true}`, strings.Trim(topic, "{}"), i)
			if err := r.rdb.ZAdd(context.Background(), "delay:pool:"+topic, redis.Z{Score: 1, Member: text}).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, 90*time.Second, func() error {
		if n := r.marked("E"); n != len(r.pushed) {
			return fmt.Errorf("%d of %d jobs ended", n, len(r.pushed))
		}
		return nil
	})
	cutting.Store(false)
	for _, topic := range r.topics {
		eventually(t, 30*time.Second, func() error {
			if n := len(uuidsOn(t, r.rdb, topic)); n != broken {
				return fmt.Errorf("%s has %d jobs, want the broken ones", topic, n)
			}
			if n := r.rdb.LLen(context.Background(), "delay:dead:"+topic).Val(); n != broken {
				return fmt.Errorf("%s has %d dead records, want %d", topic, n, broken)
			}
			return nil
		})
	}
	if n := cuts.Load(); n < 10 {
		t.Errorf("%d replies were cut, which shows little", n)
	}
	r.wantOneRunEach(len(r.pushed))
	if n, want := r.retried(), len(r.pushed)/2+broken*len(r.topics); n != want {
		t.Errorf("%d runs had a try counted, want %d", n, want)
	}
}

// C112: the configuration is refused, and so is the run.
func TestTopicsWithoutAHashTagAreRefusedOnACluster(t *testing.T) {
	t.Parallel()
	r := startCluster(t, false)
	r.wantVerbs(r.config(r.cluster.Addrs(), ""), r.topics[2], r.rdb)
	r.topics = []string{"order_timeout"}
	config := r.config(r.cluster.Addrs(), "")
	for _, verb := range []string{"check", "run", "status"} {
		if out := r.verb(2, config, verb); !strings.Contains(out, `[topic."{order_timeout}"]`) {
			t.Errorf("%s: %s, want the name with its hash tag", verb, out)
		}
	}
}
