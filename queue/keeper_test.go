package queue_test

import (
	"context"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// C64
func TestALongJobKeepsItsLease(t *testing.T) {
	short := func(o *queue.Options) { o.Lease = 2 * time.Second } // a busy host may stand still for less
	b := newBench(t, short)
	r := newRuns()
	handle := func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 5*time.Second)
		return done
	}
	f := startFlow(t, b, short, handle)
	other := startFlow(t, benchOn(b.server, short), short, handle)
	b.ready(t, text("a"))
	eventually(t, "the end of the run", func() bool { return r.count() > 0 && b.empty(t) })
	if r.count() != 1 {
		t.Errorf("%d runs, want 1", r.count())
	}
	if lost := f.sum(t, "sidecar_leases_lost_total") + other.sum(t, "sidecar_leases_lost_total"); lost != 0 {
		t.Errorf("%v leases lost, want none", lost)
	}
	wantKeys(t, b, Keys{})
}

func TestALeaseTakenByAnotherConsumerIsReportedAndLeftAlone(t *testing.T) {
	short := func(o *queue.Options) { o.Lease = 900 * time.Millisecond }
	b := newBench(t, short)
	r := newRuns()
	release := make(chan struct{})
	f := startFlow(t, b, short, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return failed
	})
	b.ready(t, text("a"))
	eventually(t, "the run", func() bool { return r.count() == 1 })
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+60_000, text("a")) // the old worker's own deadline
	eventually(t, "the loss to be seen", func() bool { return f.sum(t, "sidecar_leases_lost_total") == 1 })
	close(release)
	eventually(t, "the end of the run", func() bool { return f.consumer.Health().InHand == 0 })
	wantKeys(t, b, Keys{Running: map[string]string{text("a"): "60s"}})
	f.wantLogged(t, 1, "lease lost before its end", "trusts its own clock", "uuid=a")
	if got := f.sum(t, "sidecar_leases_lost_total"); got != 1 {
		t.Errorf("counted %v lost, want 1", got)
	}
}

func TestASettlementFindsALostLease(t *testing.T) {
	b := newBench(t, nil)
	f, _, release := startHolding(t, b, nil, text("a"))
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+60_000, text("a"))
	close(release)
	eventually(t, "the loss to be seen", func() bool { return f.sum(t, "sidecar_leases_lost_total") == 1 })
	wantKeys(t, b, Keys{Running: map[string]string{text("a"): "60s"}})
}

func TestLeasesOutliveAnOutageLongerThanThemselves(t *testing.T) {
	short := func(o *queue.Options) { o.Lease = 600 * time.Millisecond }
	b := newBench(t, short, "appendonly yes", "appendfsync always")
	f, r, release := startHolding(t, b, short, text("a"))
	b.server.Kill()
	eventually(t, "renewals to fail", func() bool { return f.sum(t, "sidecar_redis_errors_total", "network") > 0 })
	wait(t.Context(), 1500*time.Millisecond)
	b.server.Start()
	eventually(t, "Redis to work", func() bool { return f.log.count("redis works again") > 0 })
	close(release)
	eventually(t, "the end of the run", func() bool { return f.consumer.Health().InHand == 0 })
	if got := f.sum(t, "sidecar_leases_lost_total"); got != 0 || r.count() != 1 {
		t.Errorf("%v leases lost and %d runs, want none and 1", got, r.count())
	}
	wantKeys(t, b, Keys{})
}
