package queue

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestARunOfErrorsIsLoggedAtItsStartItsTurnsAndItsEnd(t *testing.T) {
	var log bytes.Buffer
	metrics := NewMetrics(prometheus.NewRegistry(), []string{"mail"}).topic("mail")
	tr := newTrouble("promote", metrics, slog.New(slog.NewTextHandler(&log, nil)))
	for range 100 {
		tr.note(t.Context(), io.EOF)
	}
	for range 100 {
		tr.note(t.Context(), refusal("LOADING Redis is loading the dataset in memory"))
	}
	if FaultOf(tr.current()) != Loading {
		t.Errorf("current is %v, want LOADING", tr.current())
	}
	tr.note(t.Context(), nil)
	tr.note(t.Context(), nil)
	if tr.current() != nil {
		t.Errorf("current is %v, want nil", tr.current())
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), log.String())
	}
	for i, want := range []string{"fault=network", "fault=loading", "failures=200"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %s in it", i, lines[i], want)
		}
	}
	if got := testutil.ToFloat64(metrics.errors.WithLabelValues("network")); got != 100 {
		t.Errorf("counted %v network errors, want 100", got)
	}
}

func TestWhatWeCutShortOurselvesIsNoTrouble(t *testing.T) {
	metrics := NewMetrics(prometheus.NewRegistry(), []string{"mail"}).topic("mail")
	tr := newTrouble("promote", metrics, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr.note(ctx, ctx.Err())
	if tr.current() != nil {
		t.Errorf("current is %v, want nil", tr.current())
	}
}
