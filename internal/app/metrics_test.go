package app

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/fastcgi"
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
	a := newApp(Options{
		Config: &config.Config{
			FPM:    map[string]fastcgi.PoolOptions{"default": fastcgi.DefaultPoolOptions()},
			Topics: []config.Topic{{Name: opts.Topic}},
		},
		Version: "v-test",
		Log:     slog.New(slog.DiscardHandler),
	})
	a.spool.Add("web")
	store := queue.NewStore(testenv.Redis(t).Client(), "", opts)
	a.setCurrent(&generation{topics: []*topic{{name: opts.Topic, store: store}}})
	families, err := prometheus.Gatherer(a.registry).Gather()
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
