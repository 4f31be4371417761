package queue_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

func TestAJobIsPromotedRunAndGone(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	handle := r.handler(done)
	f := startFlow(t, b, nil, func(ctx context.Context, job compat.Job) compat.Outcome {
		<-time.After(20 * time.Millisecond) // a run; one that takes no time may end before its promotion is known here
		return handle(ctx, job)
	})
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+50, text("a"), b.nowMS(t)+3.6e6, text("later"))
	eventually(t, "the job to be gone", func() bool { return r.count() == 1 && b.size(t, b.keys.Running) == 0 })
	wantKeys(t, b, Keys{Pool: map[string]string{text("later"): "3600s"}})
	if got := r.list()[0]; got != text("a") {
		t.Errorf("ran %s, want %s", got, text("a"))
	}
	for metric, want := range map[string]float64{
		"sidecar_promoted_total": 1, "sidecar_claims_total": 1, "sidecar_lateness_seconds": 1, "sidecar_run_duration_seconds": 1, "sidecar_in_hand": 0,
	} {
		eventually(t, metric, func() bool { return f.sum(t, metric) == want })
	}
	f.wantSum(t, 1, "sidecar_outcomes_total", "done")
}

// C75
func TestAFailingJobClimbsTheLadderAndEndsInDead(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	startFlow(t, b, nil, r.handler(compat.Outcome{Verdict: compat.Failed, Error: "no", Trace: "#0 x"}))
	b.ready(t, text("a"))
	for i, delay := range []string{"5s", "30s", "120s", "600s", "1800s"} {
		want := fmt.Sprintf(`{"uuid":"a","retry":%d,"last_error":"no"}`, i+1)
		eventually(t, "the changed job to be in the pool", func() bool { return b.do(t, "ZSCORE", b.keys.Pool, want) != nil })
		wantKeys(t, b, Keys{Pool: map[string]string{want: delay}})
		b.do(t, "ZADD", b.keys.Pool, 1, want)
	}
	eventually(t, "the job to be dead", func() bool { return b.size(t, b.keys.Dead) == 1 && b.empty(t) })
	record, err := compat.ParseDeadRecord(b.rdb.LIndex(t.Context(), b.keys.Dead, 0).Val())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"uuid":"a","retry":6,"last_error":"no"}`; record.Job != want || record.Error != "no" || record.Trace != "#0 x" {
		t.Errorf("dead holds %+v, want the job %s", record, want)
	}
	if r.count() != 6 {
		t.Errorf("ran %d times, want 6", r.count())
	}
}

func TestEveryOtherOutcomeLeavesTheRightState(t *testing.T) {
	const job = `{"uuid":"a", "retry":2}`
	dead := `{"job":{"uuid":"a", "retry":2,"last_error":"never"},"error":"never","trace":"","at":"*"}`
	tests := map[string]struct {
		outcome compat.Outcome
		want    Keys
	}{
		"deferred":   {compat.Outcome{Verdict: compat.Deferred, Delay: time.Hour}, Keys{Pool: map[string]string{job: "3600s"}}},
		"crashed":    {compat.Outcome{Verdict: compat.Crashed, Error: "killed"}, Keys{Pool: map[string]string{`{"uuid":"a", "retry":2,"crashes":1,"last_error":"killed"}`: "*"}}},
		"timed out":  {compat.Outcome{Verdict: compat.TimedOut, Error: "60s"}, Keys{Pool: map[string]string{`{"uuid":"a", "retry":3,"last_error":"60s"}`: "120s"}}},
		"rejected":   {compat.Outcome{Verdict: compat.Rejected, Error: "never"}, Keys{Dead: []string{dead}}},
		"still runs": {compat.Outcome{Verdict: compat.TimedOut, Held: true}, Keys{Running: map[string]string{job: "30s"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			r := newRuns()
			f := startFlow(t, b, nil, r.handler(tt.outcome))
			b.ready(t, job)
			eventually(t, "the run", func() bool { return r.count() == 1 && f.consumer.Health().InHand == 0 })
			for i, record := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
				at := record[strings.LastIndex(record, `"at":"`)+len(`"at":"`):]
				b.do(t, "LSET", b.keys.Dead, i, strings.Replace(record, at, `*"}`, 1))
			}
			wantKeys(t, b, tt.want)
			if cut := tt.outcome.Verdict == compat.Crashed || tt.outcome.Verdict == compat.TimedOut; (f.log.count("level=WARN", "run was cut short", "uuid=a") == 1) != cut {
				t.Errorf("want a line for a run that crashed or timed out, and for no other:\n%s", f.log)
			}
			eventually(t, "a moment without a slot", func() bool { return f.gate.inUse() == 0 }) // a claim under way has some
		})
	}
}

func TestAPanicIsACrashOfTheJobOnly(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.UUID() == "bad" {
			panic("boom")
		}
		return done
	})
	b.ready(t, text("bad"), text("good"))
	eventually(t, "both runs", func() bool { return r.count() == 2 && b.size(t, b.keys.Running, b.keys.Ready) == 0 })
	wantKeys(t, b, Keys{Pool: map[string]string{`{"uuid":"bad","retry":0,"last_error":"handler panicked: boom","crashes":1}`: "*"}})
}

func TestAnUnavailableJobGoesBackUncounted(t *testing.T) {
	b := newBench(t, nil)
	var up atomic.Bool
	r := newRuns()
	one := func(o *queue.Options) { o.Workers = 1 }
	startFlow(t, b, one, func(ctx context.Context, job compat.Job) compat.Outcome {
		if !up.Load() {
			wait(ctx, 5*time.Millisecond) // a shut gate would be slower still
			return compat.Outcome{Verdict: compat.Unavailable, Error: "no FPM"}
		}
		defer r.begin(job)()
		return done
	})
	b.ready(t, text("a"), text("b"), text("c"))
	eventually(t, "the first to be tried and put back", func() bool { return b.size(t, b.keys.Ready) == 3 })
	up.Store(true)
	eventually(t, "all runs", func() bool { return r.count() == 3 && b.empty(t) })
	got := r.list()
	slices.Sort(got)
	if want := []string{text("a"), text("b"), text("c")}; !slices.Equal(got, want) {
		t.Errorf("ran %s, want %s", got, want)
	}
	wantKeys(t, b, Keys{})
}

// C27
func TestTextsThatAreNoJobsGoToDeadOnce(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	startFlow(t, b, nil, r.handler(done))
	bad := []string{`a:1:{s:4:"uuid";s:1:"z";}`, "", "null", "42", `"str"`, "[]", "{\"uuid\":\"x\"}\x00"}
	b.ready(t, bad...)
	b.ready(t, text("good"))
	eventually(t, "all to be settled", func() bool { return b.empty(t) && b.size(t, b.keys.Dead) == len(bad) && r.count() == 1 })
	found := map[string]bool{}
	for _, record := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
		dead, err := compat.ParseDeadRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		found[dead.Job] = dead.Error != ""
	}
	for _, want := range bad {
		if !found[want] {
			t.Errorf("dead does not hold %q and a reason", want)
		}
	}
}

// C49
func TestACopyAddedToThePoolMeanwhileStays(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	release := make(chan struct{})
	startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	})
	b.ready(t, text("a"))
	eventually(t, "the run", func() bool { return r.count() == 1 })
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+60_000, text("a"))
	close(release)
	eventually(t, "the run's end", func() bool { return b.size(t, b.keys.Running) == 0 })
	wantKeys(t, b, Keys{Pool: map[string]string{text("a"): "60s"}})
}

// C51
func TestCopiesOfOneTextRunOneAfterTheOther(t *testing.T) {
	lease := func(o *queue.Options) { o.Lease = time.Second }
	b := newBench(t, lease)
	r := newRuns()
	f := startFlow(t, b, lease, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 300*time.Millisecond)
		return done
	})
	b.ready(t, text("a"), text("a"))
	eventually(t, "both runs", func() bool { return r.count() == 2 && b.empty(t) })
	if r.clash {
		t.Error("the copies ran at the same time")
	}
	eventually(t, "a twin to be counted", func() bool { return f.sum(t, "sidecar_twins_total") >= 1 })
	wantKeys(t, b, Keys{})
}

// C53
func TestTwoSidecarsAndALegacyScannerRunEachJobOnce(t *testing.T) {
	const jobs = 1000
	b := newBench(t, nil)
	for i := range jobs {
		b.do(t, "ZADD", b.keys.Pool, 1, text(fmt.Sprint(i)))
	}
	r := newRuns()
	startFlow(t, b, nil, r.handler(done))
	startFlow(t, benchOn(b.server, nil), nil, r.handler(done))
	// The legacy scanner: a range, then for each text ZREM, and a push if that gave 1.
	for _, old := range b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val() {
		if b.rdb.ZRem(t.Context(), b.keys.Pool, old).Val() == 1 {
			b.do(t, "LPUSH", b.keys.Ready, old)
		}
	}
	eventually(t, "all runs", func() bool { return r.count() >= jobs && b.empty(t) })
	for i := range jobs {
		if got := r.of(fmt.Sprint(i)); got != 1 {
			t.Errorf("job %d ran %d times", i, got)
		}
	}
	wantKeys(t, b, Keys{})
}

func TestADoneJobIsNotRunAgain(t *testing.T) {
	on := func(o *queue.Options) { o.Idempotency = queue.IdempotencyOn }
	b := newBench(t, on)
	b.do(t, "SET", b.keys.Idem("a"), "done")
	b.do(t, "SET", b.keys.Idem("b"), "1") // the old consumer's: it may have died before the work
	b.ready(t, text("a"), text("b"), text("c"))
	r := newRuns()
	f := startFlow(t, b, on, r.handler(done))
	eventually(t, "all to be settled", func() bool { return b.empty(t) && r.count() == 2 })
	if r.of("a") != 0 {
		t.Error("the job that was done ran again")
	}
	wantKeys(t, b, Keys{Marks: map[string]string{"a": "done", "b": "done", "c": "done"}})
	f.wantSum(t, 1, "sidecar_done_before_total")
}

func TestAFailedJobsOldMarkIsTakenBack(t *testing.T) {
	on := func(o *queue.Options) { o.Idempotency = queue.IdempotencyOn }
	b := newBench(t, on)
	b.do(t, "SET", b.keys.Idem("a"), "1")
	b.ready(t, text("a"))
	r := newRuns()
	startFlow(t, b, on, r.handler(failed))
	eventually(t, "the failure", func() bool { return b.size(t, b.keys.Pool) == 1 })
	wantKeys(t, b, Keys{Pool: map[string]string{`{"uuid":"a","retry":1,"last_error":"no"}`: "5s"}})
}

func TestNoSlotIsHeldWhileWaiting(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	b.ready(t, text("a"))
	eventually(t, "the run", func() bool { return r.count() == 1 && b.empty(t) })
	eventually(t, "all slots to be free", func() bool { return f.gate.inUse() == 0 })
}

func TestRunLeavesNoGoroutineBehind(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "PING")
	before := runtime.NumGoroutine()
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	for i := range 50 {
		b.ready(t, text(fmt.Sprint(i)))
	}
	eventually(t, "all runs", func() bool { return r.count() == 50 && b.empty(t) })
	f.stop(t)
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}
