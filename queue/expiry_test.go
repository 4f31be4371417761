package queue_test

import (
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// abandoned puts claims of a consumer that died long ago into running.
func abandoned(t *testing.T, b bench, texts ...string) {
	t.Helper()
	for _, text := range texts {
		b.do(t, "ZADD", b.keys.Running, b.nowMS(t)-1000, text)
	}
}

func TestAnExpiredClaimIsACrash(t *testing.T) {
	b := newBench(t, nil)
	abandoned(t, b, `{"uuid":"a","retry":2}`)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	eventually(t, "the claim to be taken back", func() bool { return b.size(t, b.keys.Pool) == 1 })
	wantKeys(t, b, Keys{Pool: map[string]string{
		`{"uuid":"a","retry":2,"crashes":1,"last_error":"lease expired: the consumer that ran this job died or lost Redis"}`: "*",
	}})
	f.wantSum(t, 1, "sidecar_expired_total")
}

func TestAJobThatKillsItsConsumersEndsInDead(t *testing.T) {
	none := func(o *queue.Options) { o.MaxCrashes = 0 }
	b := newBench(t, none)
	abandoned(t, b, `{"uuid":"a"}`, "no job")
	r := newRuns()
	f := startFlow(t, b, none, r.handler(done))
	eventually(t, "both to be dead", func() bool { return b.empty(t) && b.size(t, b.keys.Dead) == 2 })
	var jobs []string
	for _, text := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
		record, err := compat.ParseDeadRecord(text)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, record.Job)
	}
	if got := strings.Join(jobs, " | "); !strings.Contains(got, `"crashes":1`) || !strings.Contains(got, "no job") {
		t.Errorf("dead holds %s", got)
	}
	if r.count() != 0 {
		t.Errorf("%d runs, want none", r.count())
	}
	f.wantSum(t, 2, "sidecar_buried_total")
}

func TestMoreThanABatchOfExpiredClaimsIsTakenBackAtOnce(t *testing.T) {
	small := func(o *queue.Options) { o.Batch = 10 }
	b := newBench(t, small)
	for i := range 95 {
		abandoned(t, b, text(strings.Repeat("x", i+1)))
	}
	began := time.Now()
	startFlow(t, b, small, newRuns().handler(done))
	eventually(t, "all to be in the pool", func() bool { return b.size(t, b.keys.Pool) == 95 })
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("took %s, as if one batch a second", took)
	}
}

func TestAScannerLeavesWhatItsOwnProcessHolds(t *testing.T) {
	b := newBench(t, nil)
	f, _, release := startHolding(t, b, nil, text("a"))
	lease := b.do(t, "ZSCORE", b.keys.Running, text("a"))
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)-5000, text("a")) // it looks expired
	abandoned(t, b, text("b"))
	eventually(t, "the other claim to be taken back", func() bool { return b.size(t, b.keys.Pool) == 1 })
	if b.do(t, "ZSCORE", b.keys.Running, text("a")) == nil {
		t.Error("the scanner took away what its own process runs")
	}
	b.do(t, "ZADD", b.keys.Running, lease, text("a"))
	close(release)
	eventually(t, "the run's end", func() bool { return f.consumer.Health().InHand == 0 })
	if b.size(t, b.keys.Running) != 0 {
		t.Error("the job is not complete")
	}
}

// Redis stood still for less than the client waits: nobody was told, but the others' leases have ended all the same, and
// what they sent is on its way.
func TestAfterASlowAnswerTheOthersMayRenewFirst(t *testing.T) {
	lease := func(o *queue.Options) { o.Lease = 4500 * time.Millisecond }
	b := newBench(t, lease)
	f := startFlow(t, b, lease, newRuns().handler(done))
	eventually(t, "a scan", func() bool { return !f.consumer.Health().LastScan.IsZero() })
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+1000, text("a"))
	resume := b.server.Pause()
	wait(t.Context(), 2500*time.Millisecond) // longer than to the next look, whenever that is
	back := time.Now()
	resume()
	eventually(t, "the claim to be taken back", func() bool { return b.size(t, b.keys.Pool) == 1 })
	if took := time.Since(back); took < time.Second {
		t.Errorf("taken back %s after Redis went on, want about 1.5s", took)
	}
	if n := f.sum(t, "sidecar_redis_errors_total"); n != 0 {
		t.Errorf("%v errors, want none", n)
	}
}

func TestAfterAnOutageTheOthersMayRenewFirst(t *testing.T) {
	lease := func(o *queue.Options) { o.Lease = 4500 * time.Millisecond }
	b := newBench(t, lease, "appendonly yes", "appendfsync always")
	f := startFlow(t, b, lease, newRuns().handler(done))
	eventually(t, "a scan", func() bool { return !f.consumer.Health().LastScan.IsZero() })
	abandoned(t, b, text("a"))
	b.server.Kill()
	eventually(t, "the outage to be seen", func() bool { return f.consumer.Health().ScanErr != nil })
	b.server.Start()
	back := time.Now()
	eventually(t, "the claim to be taken back", func() bool { return b.size(t, b.keys.Pool) == 1 })
	// A third of the lease, less what the scanner needed to notice.
	if took := time.Since(back); took < time.Second {
		t.Errorf("taken back %s after the outage, want about 1.5s", took)
	}
}
