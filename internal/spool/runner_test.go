package spool_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/internal/spool"
	"sidecar/internal/testenv"
)

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// value returns the spool's series of a metric.
func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// The sidecar itself drains a spool: also one that fills while Redis is away, and of which a row cannot come in.
func TestARunnerDrainsAgainAndAgain(t *testing.T) {
	r := newRig(t)
	r.opts.Every = 20_000_000 // ns: the file's least is a second
	reg := prometheus.NewRegistry()
	m := spool.NewMetrics(reg)
	m.Add("web")
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	log := &logged{}
	runner := spool.NewRunner(r.opts, r.drainer(), m, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { runner.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	length := func(n int64) func() bool {
		return func() bool { return r.rdb.LLen(t.Context(), smsList).Val() == n }
	}

	r.store(texts(smsList, "a", "b")...)
	testenv.Poll(t, patience, "the first rows", length(2))
	testenv.Poll(t, patience, "the first rows to leave the spool", func() bool { return log.count("spool drained") == 1 }) // else they come in again
	r.redis.Stop()
	r.store(texts(smsList, "c")...)
	testenv.Poll(t, patience, "drains to fail", func() bool { return value(t, reg, "sidecar_spool_errors_total") > 2 })
	r.redis.Start()
	testenv.Poll(t, patience, "the row after the outage", length(1)) // this Redis forgets
	testenv.Poll(t, patience, "the first end of trouble to be told", func() bool { return log.count("spool can be drained again") == 1 })
	told := log.count("spool not drained")
	r.rdb.Set(t.Context(), "queue:broken", "x", 0)
	r.store(texts("queue:broken", "d")...)
	testenv.Poll(t, patience, "the row that stays", func() bool { // a row counts as left, too, where a pass has not tried it
		return log.count("spool not drained") > told && value(t, reg, "sidecar_spool_rows") == 1
	})
	r.rdb.Del(t.Context(), "queue:broken")
	testenv.Poll(t, patience, "nothing to stay", func() bool { return value(t, reg, "sidecar_spool_rows") == 0 })
	if got := value(t, reg, "sidecar_spool_drained_rows_total"); got != 4 {
		t.Errorf("%v rows counted, want 4", got)
	}
	testenv.Poll(t, patience, "the second end of trouble to be told", func() bool { return log.count("spool can be drained again") == 2 })
	if n := log.count("spool not drained"); n < 2 || n > 5 {
		t.Errorf("trouble was told %d times, want it on change only:\n%s", n, log.text.String())
	}
}
