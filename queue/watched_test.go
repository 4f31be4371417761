package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/queue"
)

// stallAfter is a test's stall_after: long against a claim, short for who waits.
const stallAfter = 300 * time.Millisecond

func quickWatch(o *queue.Options) { o.StallAfter = stallAfter }

// oddGate is a Gate that a test can break.
type oddGate struct {
	*slots

	mu      sync.Mutex
	acquire func(context.Context) // before a slot is given; guarded by mu
	blocked func() error          // guarded by mu
}

func newOddGate(n int) *oddGate { return &oddGate{slots: newSlots(n)} }

// breakIt sets what Acquire and Blocked do from now on; nil: as they should.
func (g *oddGate) breakIt(acquire func(context.Context), blocked func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acquire, g.blocked = acquire, blocked
}

func (g *oddGate) Acquire(ctx context.Context, most int) int {
	g.mu.Lock()
	acquire := g.acquire
	g.mu.Unlock()
	if acquire != nil {
		acquire(ctx)
	}
	return g.slots.Acquire(ctx, most)
}

func (g *oddGate) Blocked() error {
	g.mu.Lock()
	blocked := g.blocked
	g.mu.Unlock()
	if blocked != nil {
		return blocked()
	}
	return g.slots.Blocked()
}

// untilDone is an Acquire that never comes to an answer by itself.
func untilDone(ctx context.Context) { <-ctx.Done() }

// startWatched runs a Consumer on b and gate, whose watchdog asks watch.
func startWatched(t testing.TB, b bench, watch *queue.Store, gate *oddGate, change func(*queue.Options), handle func(context.Context, compat.Job) compat.Outcome) *flow {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers, opts.ScanInterval = "mail", 4, 10*time.Millisecond
	change(&opts)
	f := &flow{gate: gate.slots, metrics: prometheus.NewRegistry(), log: &logBook{}, ended: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	f.consumer = queue.NewConsumer(opts, queue.Parts{
		Store: b.Store, Watch: watch, Tracking: func() bool { return false }, Handler: handlerFunc(handle), Gate: gate,
		Metrics: queue.NewMetrics(f.metrics, []string{opts.Topic}), Outages: queue.NewOutages(log), Timezone: time.UTC, Log: log,
	})
	queue.SetLoopPatience(f.consumer, 100*time.Millisecond)
	f.run(t)
	return f
}

// wantStall waits until a stall that lasts has been found and told.
func (f *flow) wantStall(t testing.TB) {
	t.Helper()
	f.wantStallTold(t)
	eventually(t, "health to say so", func() bool {
		err := f.consumer.Health().StallErr
		return err != nil && strings.Contains(err.Error(), "stalled: ")
	})
	f.wantSum(t, 1, "sidecar_stalled")
}

// wantStallTold waits until a stall has been found and is in the log.
func (f *flow) wantStallTold(t testing.TB) {
	t.Helper()
	eventually(t, "a stall", func() bool { return f.sum(t, "sidecar_stalls_total") > 0 })
	eventually(t, "a loud line that says what is known", func() bool {
		return f.log.count("level=ERROR", "stalled: work is due and nothing is claimed", "topic=mail", "scanner=", "feeder=", "keeper=", "last_claim=") > 0
	})
}

// wantOver waits until the stall is over in every way that it was told.
func (f *flow) wantOver(t testing.TB) {
	t.Helper()
	eventually(t, "the end of the stall", func() bool {
		return f.sum(t, "sidecar_stalled") == 0 && f.consumer.Health().StallErr == nil && f.log.count("stalled no more") > 0
	})
}
