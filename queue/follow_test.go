package queue_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/queue"
)

// startAfter runs the Consumer that a reload puts in old's place.
func startAfter(t testing.TB, old *flow, b bench, change func(*queue.Options), handle func(context.Context, compat.Job) compat.Outcome) *flow {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers, opts.ScanInterval = "mail", 4, 10*time.Millisecond
	change(&opts)
	next := &flow{gate: old.gate, metrics: old.metrics, log: &logBook{}, ended: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(next.log, nil))
	metrics := queue.NewMetrics(prometheus.NewRegistry(), []string{opts.Topic})
	next.consumer = queue.NewConsumer(opts, queue.Parts{
		Store: b.Store, Watch: b.watch(opts), Tracking: func() bool { return false }, Handler: handlerFunc(handle), Gate: next.gate,
		Metrics: metrics, Outages: queue.NewOutages(log), Timezone: time.UTC, Log: log,
	})
	next.consumer.Follow(old.consumer)
	next.run(t)
	return next
}

// A reload while the process cannot renew, as when it stood still: what the old consumer has in hand is in this process,
// and its run goes on.
func TestWhatTheConsumerBeforeAReloadHasInHandIsNotTakenBack(t *testing.T) {
	t.Parallel()
	const lease = 900 * time.Millisecond
	short := func(o *queue.Options) { o.Lease = lease }
	b := newBench(t, short)
	c := newCutter(t, b.server)
	r, release := newRuns(), make(chan struct{})
	handle := func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	}
	old := startFlow(t, c.behind(t, b, short), short, handle)
	b.ready(t, text("long"))
	eventually(t, "the job to run", func() bool { return r.count() == 1 })
	c.cut(t, "renew", 1e6, true)
	old.stopTaking()
	next := startAfter(t, old, b, short, handle)
	wait(t.Context(), 4*lease) // time enough to take it back, were it taken for a stranger's
	if b.size(t, b.keys.Running) != 1 || r.count() != 1 {
		t.Errorf("%d in running, %d runs, want 1 each", b.size(t, b.keys.Running), r.count())
	}
	if old.consumer.Health().InHand != 1 || next.consumer.Health().InHand != 0 {
		t.Errorf("%d and %d in hand, want 1 and none", old.consumer.Health().InHand, next.consumer.Health().InHand)
	}
	close(release)
	eventually(t, "it to be done", func() bool { return b.empty(t) })
	if r.of("long") != 1 {
		t.Errorf("%d runs, want 1", r.of("long"))
	}
}

// What the old consumer may have claimed has not run: it goes back uncounted, whoever finds it.
func TestAClaimWhoseReplyWasLostBeforeAReloadGoesBackUncounted(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	short := func(o *queue.Options) { o.Lease = lease }
	b := newBench(t, short)
	c := newCutter(t, b.server)
	r := newRuns()
	old := startFlow(t, c.behind(t, b, short), short, r.handler(done))
	eventually(t, "a scan", func() bool { return !old.consumer.Health().LastScan.IsZero() })
	c.cut(t, "claim", 1, false)
	c.claimed(t, b, lease, text("a"))
	old.stop(t)
	startAfter(t, old, b, short, r.handler(done))
	eventually(t, "the job to run", func() bool { return r.count() == 1 && b.empty(t) })
	if got := r.list()[0]; got != text("a") {
		t.Errorf("ran %s, want %s", got, text("a"))
	}
}

// The same where the watchdog has replaced the flow whose claim it was.
func TestAClaimWhoseReplyWasLostBeforeAStallGoesBackUncounted(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	short := func(o *queue.Options) { quickWatch(o); o.Lease = lease }
	b := newBench(t, short)
	c := newCutter(t, b.server)
	gate, r := newOddGate(4), newRuns()
	f := startWatched(t, c.behind(t, b, short), b.watch(queue.Options{Topic: "mail"}), gate, short, r.handler(done))
	eventually(t, "a scan", func() bool { return !f.consumer.Health().LastScan.IsZero() })
	c.cut(t, "claim", 1, false)
	c.claimed(t, b, lease, text("a"))
	gate.breakIt(untilDone, nil)
	wait(t.Context(), 100*time.Millisecond) // a claim may be under way
	b.ready(t, text("b"))
	f.wantStallTold(t)
	gate.breakIt(nil, nil)
	eventually(t, "both to run", func() bool { return r.of("b") == 1 && r.of("a") >= 1 && b.empty(t) })
	for _, ran := range r.list() {
		if ran != text("a") && ran != text("b") {
			t.Errorf("ran %s", ran)
		}
	}
}

// The gauge is the topic's, and the watchdog that would lower it goes with the old consumer.
func TestAStallThatEndsWithItsConsumerIsNotToldForEver(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate := newOddGate(4)
	gate.breakIt(untilDone, nil)
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, newRuns().handler(done))
	b.ready(t, text("a"))
	f.wantStall(t)
	f.stop(t)
	if f.sum(t, "sidecar_stalled") != 0 {
		t.Error("the gauge still says that the topic is stalled")
	}
}
