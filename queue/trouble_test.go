package queue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// steps returns the troubles of a topic, on outages that end as soon as nobody is in trouble.
func steps(topic string, outages *Outages, log *slog.Logger) *troubles {
	metrics := NewMetrics(prometheus.NewRegistry(), []string{topic}).topic(topic)
	outages.quiet = 0
	return &troubles{topic: topic, metrics: metrics, outages: outages, log: log.With("topic", topic)}
}

var (
	errLoading   = refusal("LOADING Redis is loading the dataset in memory")
	errWrongType = refusal("WRONGTYPE Operation against a key holding the wrong kind of value")
	errNoPerm    = refusal("NOPERM this user has no permissions to run the 'zadd' command")
)

// wantLines fails unless the log has one line for each of want, in order, which holds all its words.
func wantLines(t *testing.T, log *bytes.Buffer, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), log)
	}
	for i := range want {
		for word := range strings.FieldsSeq(want[i]) {
			if !strings.Contains(lines[i], word) {
				t.Errorf("line %d is %q, want %s in it", i, lines[i], word)
			}
		}
	}
}

func TestARunOfErrorsIsLoggedAtItsStartItsTurnsAndItsEnd(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ts := steps("mail", NewOutages(logger), logger)
	tr := ts.of("promote")
	for range 100 {
		tr.note(t.Context(), errWrongType)
	}
	for range 100 {
		tr.note(t.Context(), errNoPerm)
	}
	if FaultOf(tr.current()) != NoPerm {
		t.Errorf("current is %v, want NOPERM", tr.current())
	}
	tr.note(t.Context(), nil)
	tr.note(t.Context(), nil)
	if tr.current() != nil {
		t.Errorf("current is %v, want nil", tr.current())
	}
	wantLines(t, &log, "topic=mail step=promote fault=wrongtype", "topic=mail step=promote fault=noperm", "step=promote failures=200")
	if got := testutil.ToFloat64(ts.metrics.errors.WithLabelValues("wrongtype")); got != 100 {
		t.Errorf("counted %v errors of type, want 100", got)
	}
}

func TestAnOutageIsLoggedOnceForAllTopics(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	outages := NewOutages(logger)
	var all []*trouble
	for i := range 20 {
		ts := steps(fmt.Sprint("topic", i), outages, logger)
		all = append(all, ts.of("promote"), ts.of("claim"), ts.of("complete"))
	}
	for range 10 {
		for _, tr := range all {
			tr.note(t.Context(), io.EOF)
		}
	}
	for _, tr := range all {
		tr.note(t.Context(), errLoading)
	}
	for range 2 {
		for _, tr := range all {
			tr.note(t.Context(), nil)
		}
	}
	wantLines(t, &log, "WARN fault=network error=EOF", "WARN fault=loading", "INFO topics=20 failures=660")
}

func TestOneStepThatRecoversDoesNotEndAnOutage(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ts := steps("mail", NewOutages(logger), logger)
	scan, settle := ts.of("promote"), ts.of("requeue")
	scan.note(t.Context(), io.EOF)
	settle.note(t.Context(), refusal("OOM command not allowed when used memory > 'maxmemory'."))
	scan.note(t.Context(), nil)
	scan.note(t.Context(), nil)
	wantLines(t, &log, "fault=network", "fault=oom")
	settle.note(t.Context(), nil)
	wantLines(t, &log, "fault=network", "fault=oom", "again topics=1 failures=2")
}

func TestCutsThatFollowEachOtherAreOneOutage(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	outages := NewOutages(logger)
	ts := steps("mail", outages, logger)
	outages.quiet = time.Hour
	scan, feed := ts.of("promote"), ts.of("claim")
	for _, tr := range []*trouble{scan, feed, scan, feed} {
		tr.note(t.Context(), io.EOF)
		tr.note(t.Context(), nil)
	}
	wantLines(t, &log, "fault=network")
}

func TestAnOutageTurnsIntoTheFaultOfAKey(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ts := steps("mail", NewOutages(logger), logger)
	scan, feed := ts.of("promote"), ts.of("claim")
	scan.note(t.Context(), io.EOF)
	scan.note(t.Context(), errWrongType)
	feed.note(t.Context(), nil)
	wantLines(t, &log, "fault=network", "step=promote fault=wrongtype", "again topics=1 failures=1")
	scan.note(t.Context(), io.EOF)
	scan.note(t.Context(), nil)
	feed.note(t.Context(), nil)
	wantLines(t, &log, "fault=network", "step=promote fault=wrongtype", "again topics=1 failures=1", "fault=network", "again topics=1 failures=1")
}

func TestAConsumerThatEndsTakesItsTroubleAlong(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	outages := NewOutages(logger)
	gone, stays := steps("gone", outages, logger), steps("stays", outages, logger)
	gone.of("promote").note(t.Context(), io.EOF)
	gone.drop(t.Context())
	stays.of("promote").note(t.Context(), nil)
	wantLines(t, &log, "fault=network", "again topics=1")
}

func TestWhatWeCutShortOurselvesIsNoTrouble(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	tr := steps("mail", NewOutages(log), log).of("promote")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr.note(ctx, ctx.Err())
	if tr.current() != nil {
		t.Errorf("current is %v, want nil", tr.current())
	}
}
