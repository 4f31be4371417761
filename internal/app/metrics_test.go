package app

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// row is a metric as docs/metrics.md lists it: name, type, labels.
var row = regexp.MustCompile("(?m)^\\| `(sidecar_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]+) \\|")

func TestTheMetricsPageListsWhatIsExported(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		labels := strings.Split(m[3], ", ")
		slices.Sort(labels)
		listed = append(listed, strings.Join(append(labels, m[1], m[2]), " "))
	}
	slices.Sort(listed)
	exported := exportedMetrics(t)
	for _, metric := range exported {
		if !slices.Contains(listed, metric) {
			t.Errorf("exported, and not on the page: %s", metric)
		}
	}
	for _, metric := range listed {
		if !slices.Contains(exported, metric) {
			t.Errorf("on the page, and not exported: %s", metric)
		}
	}
	if len(slices.Compact(listed)) != len(exported) {
		t.Errorf("%d rows for %d metrics", len(listed), len(exported))
	}
}

// exportedMetrics returns the labels, name and type of what a sidecar with one topic and one pool exports of its own.
func exportedMetrics(t *testing.T) (metrics []string) {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic = "order_timeout"
	fpm := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, StatusListen: true})
	pool := fastcgi.DefaultPoolOptions()
	pool.Name, pool.Listen, pool.Status, pool.BridgeDir = "default", fpm.Listen, fpm.StatusListen, filepath.Join(fpm.Dir, "bridge")
	pools := map[string]fastcgi.PoolOptions{"default": pool}
	a := newApp(Options{
		Config:  &config.Config{FPM: pools, Topics: []config.Topic{{Name: opts.Topic}}},
		Version: "v-test",
		Log:     slog.New(slog.DiscardHandler),
	})
	a.spool.Add("web")
	a.alerts.Tick(t.Context(), alert.Options{Targets: []alert.Target{{Name: "ops"}}, Rules: alert.BuiltIn()}, alert.NewMemory(time.Now), alert.Snapshot{})
	if err := a.pools.start(t.Context(), a.pools.acquire(pools), pools); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.pools.stop)
	rdb := withReplica(t)
	a.setCurrent(&generation{
		topics: []*topic{{
			name: opts.Topic, watch: queue.NewStore(rdb, "", opts),
			consumer: queue.NewConsumer(opts, queue.Parts{Metrics: a.queue, Outages: queue.NewOutages(a.log), Timezone: time.UTC, Log: a.log}),
		}},
		servers: queue.NewServers(rdb, queue.RedisOptions{}),
	})
	testenv.Poll(t, 20*time.Second, "php-fpm's status and a replica's lag", func() bool {
		metrics = gatherOwn(t, a.metrics())
		return slices.Contains(metrics, "pool state sidecar_fpm_children gauge") &&
			slices.Contains(metrics, "server sidecar_redis_replication_lag_seconds gauge")
	})
	return metrics
}

// withReplica returns a client of a server that has a replica.
func withReplica(t *testing.T) *redis.Client {
	t.Helper()
	master := testenv.Redis(t, "repl-diskless-sync-delay 0")
	host, port, _ := net.SplitHostPort(master.Addr)
	testenv.Redis(t, "replicaof "+host+" "+port)
	return master.Client()
}

// gatherOwn returns the labels, name and type of each metric of the sidecar's own in reg.
func gatherOwn(t *testing.T, reg prometheus.Gatherer) (metrics []string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "sidecar_") {
			continue
		}
		var words []string
		for _, label := range f.GetMetric()[0].GetLabel() {
			words = append(words, label.GetName())
		}
		words = append(words, f.GetName(), strings.ToLower(f.GetType().String()))
		metrics = append(metrics, strings.Join(words, " "))
	}
	return metrics
}
