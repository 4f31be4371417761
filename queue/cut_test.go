package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// C68
func TestALostReplyCountsOneFailure(t *testing.T) {
	const rounds = 50
	one := func(o *queue.Options) {
		o.Workers, o.Retry = 1, []time.Duration{time.Hour} // none comes back before the last has failed
	}
	b := newBench(t, one)
	c := newCutter(t, b.server)
	b = c.behind(t, b, one)
	r := newRuns()
	f := startFlow(t, b, one, r.handler(failed))
	want := Keys{Pool: map[string]string{}}
	for i := range rounds {
		c.cut(t, "requeue", 1, false)
		b.ready(t, text(fmt.Sprint(i)))
		eventually(t, "the failure to be settled", func() bool { return r.count() == i+1 && f.consumer.Health().InHand == 0 })
		want.Pool[fmt.Sprintf(`{"uuid":"%d","retry":1,"last_error":"no"}`, i)] = "*"
		if c.made() != 1 {
			t.Errorf("round %d: %d replies were cut, want 1", i, c.made())
		}
	}
	wantKeys(t, b, want)
	if r.count() != rounds {
		t.Errorf("%d runs, want %d", r.count(), rounds)
	}
}

// While the reply of its failure is lost, a job may be promoted, run and completed elsewhere: it is in no key
// then, and adding it once more would run it once too often.
func TestALostReplyDoublesNoJobThatWasRunMeanwhile(t *testing.T) {
	const jobs = 50
	quick := func(o *queue.Options) {
		o.Retry, o.ScanInterval = []time.Duration{time.Millisecond}, time.Millisecond
	}
	b := newBench(t, quick)
	c := newCutter(t, b.server)
	c.cut(t, "requeue", 5, false)
	r := newRuns()
	handle := func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.Tries() == 0 {
			return failed
		}
		return done
	}
	f := startFlow(t, c.behind(t, b, quick), func(o *queue.Options) { quick(o); o.Workers = 2 }, handle)
	for i := range jobs {
		b.ready(t, text(fmt.Sprint(i)))
	}
	eventually(t, "all runs", func() bool { return r.count() >= 2*jobs && b.empty(t) && f.consumer.Health().InHand == 0 })
	if c.made() != 5 {
		t.Errorf("%d replies cut, want 5", c.made())
	}
	for i := range jobs {
		if got := r.of(fmt.Sprint(i)); got != 2 {
			t.Errorf("job %d ran %d times, want 2", i, got)
		}
	}
	wantKeys(t, b, Keys{})
}

func TestALostReplyBuriesOnce(t *testing.T) {
	const jobs = 30
	b := newBench(t, nil)
	c := newCutter(t, b.server)
	c.cut(t, "bury", 5, false)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, nil), nil, r.handler(compat.Outcome{Verdict: compat.Rejected, Error: "never"}))
	for i := range jobs {
		b.ready(t, text(fmt.Sprint(i)))
	}
	eventually(t, "all to be settled", func() bool { return r.count() == jobs && f.consumer.Health().InHand == 0 })
	if got := b.size(t, b.keys.Dead); got != jobs || !b.empty(t) {
		t.Errorf("%d dead records, want %d and nothing else", got, jobs)
	}
}

func TestALostReplyCompletesOnce(t *testing.T) {
	const jobs = 30
	b := newBench(t, nil)
	c := newCutter(t, b.server)
	c.cut(t, "complete", 5, false)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, nil), nil, r.handler(done))
	for i := range jobs {
		b.ready(t, text(fmt.Sprint(i)))
	}
	eventually(t, "all to be settled", func() bool { return r.count() == jobs && f.consumer.Health().InHand == 0 })
	wantKeys(t, b, Keys{})
	if got := f.sum(t, "sidecar_leases_lost_total"); got != 0 {
		t.Errorf("%v leases lost, want none", got)
	}
}

func TestALostReplyGivesBackOnce(t *testing.T) {
	b := newBench(t, nil)
	c := newCutter(t, b.server)
	c.cut(t, "requeue", 1, false)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, nil), nil, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-ctx.Done()
		return compat.Outcome{Verdict: compat.Unavailable}
	})
	b.ready(t, text("a"), text("b"))
	eventually(t, "the runs", func() bool { return r.count() == 2 })
	f.stopTaking()
	f.stopWorking()
	f.stop(t)
	if c.made() != 1 {
		t.Errorf("%d replies cut, want 1", c.made())
	}
	wantKeys(t, b, Keys{Ready: []string{text("a"), text("b")}})
}

func TestARequestThatNeverArrivedIsOfferedAgain(t *testing.T) {
	b := newBench(t, nil)
	c := newCutter(t, b.server)
	c.cut(t, "requeue", 3, true)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, nil), nil, r.handler(failed))
	b.ready(t, text("a"))
	eventually(t, "the failure to be settled", func() bool { return r.count() == 1 && f.consumer.Health().InHand == 0 })
	wantKeys(t, b, Keys{Pool: map[string]string{`{"uuid":"a","retry":1,"last_error":"no"}`: "5s"}})
	f.wantSum(t, 3, "sidecar_settle_retries_total")
}

func TestALostRenewalReplyLosesNoLease(t *testing.T) {
	short := func(o *queue.Options) { o.Lease = 900 * time.Millisecond }
	b := newBench(t, short)
	c := newCutter(t, b.server)
	c.cut(t, "renew", 3, false)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, short), short, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 2*time.Second)
		return done
	})
	b.ready(t, text("a"), text("b"))
	eventually(t, "the runs to end", func() bool { return r.count() >= 2 && b.empty(t) && f.consumer.Health().InHand == 0 })
	if got := f.sum(t, "sidecar_leases_lost_total"); got != 0 || r.count() != 2 || c.made() != 3 {
		t.Errorf("%v leases lost, %d runs, %d cuts; want none, 2, 3", got, r.count(), c.made())
	}
	wantKeys(t, b, Keys{})
}

func TestAClaimWhoseReplyWasLostGoesBackUncounted(t *testing.T) {
	const lease = 3 * time.Second // a busy host may stand still for less
	with := func(o *queue.Options) { o.Lease = lease }
	b := newBench(t, with)
	c := newCutter(t, b.server)
	r := newRuns()
	f := startFlow(t, c.behind(t, b, with), with, r.handler(done))
	eventually(t, "a scan", func() bool { return !f.consumer.Health().LastScan.IsZero() })
	c.cut(t, "claim", 1, false)
	c.claimed(t, b, lease, text("a"))
	eventually(t, "the job to run", func() bool { return r.count() == 1 && b.empty(t) })
	if got := r.list()[0]; got != text("a") {
		t.Errorf("ran %s, want %s", got, text("a"))
	}
}

// C68: the client gives up while Redis stands still, and Redis runs the script all the same.
func TestAFrozenRedisCountsOneFailure(t *testing.T) {
	b := newBench(t, nil)
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	rdb := redis.NewClient(&redis.Options{Addr: b.server.Addr, MaxRetries: -1, DisableIdentity: true, ReadTimeout: 200 * time.Millisecond, Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	b.Store = queue.NewStore(rdb, "", opts)
	r := newRuns()
	release := make(chan struct{})
	f := startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return failed
	})
	b.ready(t, text("a"), text("b"), text("c"))
	eventually(t, "the runs", func() bool { return r.count() == 3 })
	resume := b.server.Pause()
	close(release)
	eventually(t, "a few offers to time out", func() bool { return f.sum(t, "sidecar_settle_retries_total") >= 9 })
	resume()
	eventually(t, "the failures to be settled", func() bool { return f.consumer.Health().InHand == 0 })
	wantKeys(t, b, Keys{Pool: map[string]string{
		`{"uuid":"a","retry":1,"last_error":"no"}`: "5s",
		`{"uuid":"b","retry":1,"last_error":"no"}`: "5s",
		`{"uuid":"c","retry":1,"last_error":"no"}`: "5s",
	}})
	if r.count() != 3 {
		t.Errorf("%d runs, want 3", r.count())
	}
}
