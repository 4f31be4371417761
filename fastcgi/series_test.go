package fastcgi_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/fastcgi"
)

func newPoolOf(m *fastcgi.Metrics, children int) *fastcgi.Pool {
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen, o.Children = "default", "unix:///nowhere", children
	return fastcgi.NewPool(o, slog.New(slog.DiscardHandler), m)
}

func wantSlots(t *testing.T, reg prometheus.Gatherer, slots string) {
	t.Helper()
	want := "# HELP sidecar_fpm_slots Children of the pool that jobs may occupy now.\n# TYPE sidecar_fpm_slots gauge\n" +
		"sidecar_fpm_slots{pool=\"default\"} " + slots + "\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "sidecar_fpm_slots"); err != nil {
		t.Error(err)
	}
}

// Of two pools of a name, the newest sets the gauges; when it goes, because a reload was refused, the other does again.
func TestTheNewestPoolOfANameSetsItsGauges(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := fastcgi.NewMetrics(reg, nil, nil)
	old := newPoolOf(m, 8)
	next := newPoolOf(m, 4)
	wantSlots(t, reg, "4")
	old.SetChildren(7)
	wantSlots(t, reg, "4")
	next.Remove()
	wantSlots(t, reg, "7")
	next.SetChildren(3)
	wantSlots(t, reg, "7")
}

func TestSeriesGoWithTheLastOfTheirName(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := fastcgi.NewMetrics(reg, []string{"default"}, []string{validTopic().Topic})
	pool := newPoolOf(m, 8)
	first, second := pool.NewTopic(validTopic()), pool.NewTopic(validTopic())
	series := func() int {
		t.Helper()
		n, err := testutil.GatherAndCount(reg)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := series()
	first.Remove()
	if got := series(); got != all {
		t.Errorf("%d of %d series are left, and the topic still is one", got, all)
	}
	second.Remove()
	pool.Remove()
	pool.SetChildren(2)
	if got := series(); got != 0 {
		t.Errorf("%d series of nobody", got)
	}
}
