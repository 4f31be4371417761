package queue_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// scriptCallsIn returns how many calls of each script reg has seen.
func scriptCallsIn(t *testing.T, reg *prometheus.Registry) map[string]uint64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]uint64)
	for _, f := range families {
		if f.GetName() != "sidecar_redis_script_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			calls[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
		}
	}
	return calls
}

func TestEveryScriptHasItsSeriesFromTheStart(t *testing.T) {
	reg := prometheus.NewRegistry()
	queue.NewMetrics(reg, nil)
	calls := scriptCallsIn(t, reg)
	paths, err := filepath.Glob("lua/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		verb := strings.TrimSuffix(filepath.Base(path), ".lua")
		if n, found := calls[verb]; !found || n != 0 {
			t.Errorf("%s: %d calls, found %t; want a series with none", verb, n, found)
		}
	}
	if len(calls) != len(paths) {
		t.Errorf("%d series for %d scripts", len(calls), len(paths))
	}
}

// A server that has just started knows no script: the call that it refuses and the one with the text are one.
func TestScriptCallsAreCountedOnceEach(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	metrics := queue.NewMetrics(reg, nil)
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	rdb := testenv.Redis(t).Client()
	metrics.Watch(rdb)
	store := queue.NewStore(rdb, "", opts)
	for range 3 {
		if err := store.Push(t.Context(), `{"uuid":"u"}`, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Eval(t.Context(), "return 1", nil).Err(); err != nil { // nobody's script
		t.Fatal(err)
	}
	calls := scriptCallsIn(t, reg)
	if calls["push"] != 3 || calls["promote"] != 1 {
		t.Errorf("got %d pushes and %d promotions, want 3 and 1", calls["push"], calls["promote"])
	}
	var all uint64
	for _, n := range calls {
		all += n
	}
	if all != 4 {
		t.Errorf("%d calls in all, want 4", all)
	}
}

func TestScriptCallsAreCountedInACluster(t *testing.T) {
	t.Parallel()
	nodes := testenv.Cluster(t, false).Nodes
	reg := prometheus.NewRegistry()
	metrics := queue.NewMetrics(reg, nil)
	rdb := open(t, queue.RedisOptions{Addrs: []string{nodes[0].Addr}, Cluster: true}, "{mail}")
	if _, cluster := rdb.(*redis.ClusterClient); !cluster {
		t.Fatalf("got a %T", rdb)
	}
	metrics.Watch(rdb)
	opts := queue.DefaultOptions()
	opts.Topic = "{mail}"
	if err := queue.NewStore(rdb, "", opts).Push(t.Context(), `{"uuid":"u"}`, 0); err != nil {
		t.Fatal(err)
	}
	if n := scriptCallsIn(t, reg)["push"]; n != 1 {
		t.Errorf("got %d pushes, want 1", n)
	}
}

// What the count costs a call is what the difference of these two is.
func BenchmarkScriptCalls(b *testing.B) {
	for name, watched := range map[string]bool{"counted": true, "not counted": false} {
		b.Run(name, func(b *testing.B) {
			rdb := testenv.Redis(b).Client()
			if watched {
				queue.NewMetrics(prometheus.NewRegistry(), nil).Watch(rdb)
			}
			opts := queue.DefaultOptions()
			opts.Topic = "mail"
			store := queue.NewStore(rdb, "", opts)
			for b.Loop() {
				if _, err := store.Claim(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
