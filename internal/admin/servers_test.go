package admin_test

import (
	"fmt"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/internal/admin"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// scrape returns the values of a collector by name, and by role where there is one.
func scrape(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				if label.GetName() == "role" {
					name += " " + label.GetValue()
				}
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

// serversOf returns a collector over one server, over a client as the sidecar opens it.
func serversOf(t *testing.T, server *testenv.RedisServer) *admin.Servers {
	t.Helper()
	opts := queue.DefaultRedisOptions()
	opts.URL = server.URL()
	rdb, err := queue.Open(opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	servers := queue.NewServers(rdb, opts)
	return admin.NewServers(func() *queue.Servers { return servers })
}

func TestAServerIsAskedWhenScraped(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, "maxmemory 50mb")
	got := scrape(t, serversOf(t, server))
	for name, want := range map[string]float64{
		"sidecar_redis_up": 1, "sidecar_redis_memory_max_bytes": 50 << 20, "sidecar_redis_evicted_keys_total": 0,
		"sidecar_redis_rejected_connections_total": 0, "sidecar_redis_role master": 1, "sidecar_redis_role replica": 0,
		"sidecar_redis_role other": 0, "sidecar_redis_replicas": 0, "sidecar_redis_last_save_ok": 1,
	} {
		if value, found := got[name]; !found || value != want {
			t.Errorf("%s: got %v (there: %t), want %v", name, value, found, want)
		}
	}
	for _, name := range []string{"sidecar_redis_ping_seconds", "sidecar_redis_memory_used_bytes", "sidecar_redis_clients"} {
		if got[name] <= 0 {
			t.Errorf("%s: got %v, want more than 0", name, got[name])
		}
	}
	if lag, found := got["sidecar_redis_replication_lag_seconds"]; found {
		t.Errorf("a lag of %v without a replica", lag)
	}
	if problems, err := testutil.CollectAndLint(serversOf(t, server)); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// What is not known is absent: 0 bytes and 0 clients would look like an empty server.
func TestAServerThatIsGoneOrHangsIsOnlyNotUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testenv.RedisServer){
		"gone": (*testenv.RedisServer).Stop,
		"hangs": func(s *testenv.RedisServer) {
			resume := s.Pause()
			t.Cleanup(resume)
		},
	} {
		server := testenv.Redis(t)
		servers := serversOf(t, server)
		end(server)
		began := time.Now()
		got := scrape(t, servers)
		if want := map[string]float64{"sidecar_redis_up": 0}; !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if took := time.Since(began); took > 5*time.Second { // what its client would wait for
			t.Errorf("%s: the scrape took %s", name, took)
		}
	}
}

func TestAUserWhoMayNotAskGetsNothingButUp(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	if err := server.Client().Do(t.Context(), "ACL", "SETUSER", "default", "-info", "-ping").Err(); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, serversOf(t, server))
	delete(got, "sidecar_redis_ping_seconds") // a refusal takes its time, too
	if want := map[string]float64{"sidecar_redis_up": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestManyScrapesAskOnce(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	servers, began := serversOf(t, server), time.Now()
	for range 20 {
		scrape(t, servers)
	}
	most := 2 + int(time.Since(began)/time.Second)
	stats, err := server.Client().InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var calls int
	if _, err := fmt.Sscanf(stats["Commandstats"]["cmdstat_info"], "calls=%d,", &calls); err != nil || calls < 1 || calls > most {
		t.Errorf("INFO: %d calls (%v), want one, and another each second: %d at most", calls, err, most)
	}
}

func TestReplicasTellTheirLagAndTheirRole(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t, "repl-diskless-sync-delay 0")
	host, port, _ := net.SplitHostPort(master.Addr)
	replica := testenv.Redis(t, "replicaof "+host+" "+port)
	of := serversOf(t, replica)
	testenv.Poll(t, 20*time.Second, "the replica to be in sync", func() bool {
		got := scrape(t, of)
		_, known := got["sidecar_redis_replication_lag_seconds"]
		return known && got["sidecar_redis_role replica"] == 1
	})
	of = serversOf(t, master)
	testenv.Poll(t, 20*time.Second, "the master to tell of it", func() bool {
		got := scrape(t, of)
		_, known := got["sidecar_redis_replication_lag_seconds"]
		return known && got["sidecar_redis_replicas"] == 1
	})
}

func TestNoServersAreNoSeries(t *testing.T) {
	if got := scrape(t, admin.NewServers(func() *queue.Servers { return nil })); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
