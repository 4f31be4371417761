package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// C159
func TestStoppingFinishesWhatIsInHandAndTakesNothingNew(t *testing.T) {
	three := func(o *queue.Options) { o.Workers = 3 }
	b := newBench(t, three)
	r := newRuns()
	release := make(chan struct{})
	f := startFlow(t, b, three, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	})
	var left []string
	for i := range 53 {
		b.ready(t, text(fmt.Sprint(i)))
		if i >= 3 {
			left = append(left, text(fmt.Sprint(i)))
		}
	}
	eventually(t, "three runs", func() bool { return r.count() == 3 })
	f.stopTaking()
	if got := f.consumer.Health().InHand; got != 3 {
		t.Errorf("%d in hand, want 3", got)
	}
	close(release)
	f.stop(t)
	wantKeys(t, b, Keys{Ready: left})
	if r.count() != 3 {
		t.Errorf("%d runs, want 3", r.count())
	}
}

func TestWhenWorkEndsTheHandlersAreToldAndTheirJobsGoBack(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-ctx.Done()
		return compat.Outcome{Verdict: compat.Unavailable, Error: "stopped"}
	})
	b.ready(t, text("a"), text("b"), text("c"))
	eventually(t, "the runs", func() bool { return r.count() == 3 })
	f.stopTaking()
	f.stopWorking()
	f.stop(t)
	wantKeys(t, b, Keys{Ready: []string{text("a"), text("b"), text("c")}})
}

func TestAScriptThatCannotBeStoppedKeepsItsLease(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-ctx.Done()
		return compat.Outcome{Verdict: compat.Unavailable, Held: true}
	})
	b.ready(t, text("a"))
	eventually(t, "the run", func() bool { return r.count() == 1 })
	f.stopWorking()
	f.stop(t)
	wantKeys(t, b, Keys{Running: map[string]string{text("a"): "30s"}})
}

// A job that is to run alone keeps those behind it waiting; when the process stops meanwhile, they were
// claimed and not started.
func TestClaimsNotStartedGoBackInTheirOrder(t *testing.T) {
	five := func(o *queue.Options) { o.Workers = 5 }
	b := newBench(t, five)
	f, r, release := startHolding(t, b, five, text("first"))
	last := `{"uuid":"last","crashes":5,"last_error":"lease expired: x"}`
	b.ready(t, last)
	eventually(t, "the last chance to be claimed", func() bool { return b.size(t, b.keys.Running) == 2 })
	b.ready(t, text("c"), text("d"), text("e"), text("f"))
	eventually(t, "three more claims to be known here", func() bool { return f.consumer.Health().InHand == 5 })
	f.stopTaking()
	eventually(t, "the claims to be back", func() bool { return b.size(t, b.keys.Ready) == 5 })
	close(release)
	f.stop(t)
	wantKeys(t, b, Keys{Ready: []string{last, text("c"), text("d"), text("e"), text("f")}})
	if r.count() != 1 {
		t.Errorf("%d runs, want 1", r.count())
	}
}

func TestALastChanceRunsAlone(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	alone := make(chan int, 1)
	startFlow(t, b, nil, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 50*time.Millisecond)
		if job.UUID() == "last" {
			r.mu.Lock()
			defer r.mu.Unlock()
			n := 0
			for _, running := range r.now {
				n += running
			}
			alone <- n
		}
		return done
	})
	b.ready(t, text("a"), text("b"), `{"uuid":"last","crashes":5,"last_error":"lease expired: x"}`, text("c"), text("d"), text("e"))
	eventually(t, "all runs", func() bool { return r.count() == 6 && b.empty(t) })
	if got := <-alone; got != 1 {
		t.Errorf("%d jobs ran with it, want 1", got)
	}
}

func TestARedisThatStaysAwayDoesNotKeepTheProcess(t *testing.T) {
	b := newBench(t, nil)
	f, _, release := startHolding(t, b, nil, text("a"))
	b.server.Kill()
	close(release)
	f.stopTaking()
	f.stopWorking()
	f.stop(t)
	if got := f.sum(t, "sidecar_settle_abandoned_total"); got != 1 {
		t.Errorf("counted %v given up, want 1", got)
	}
	if f.log.count("settlements given up") != 1 {
		t.Error("the log does not tell")
	}
}

// C67
func TestAVerdictWaitsForRedis(t *testing.T) {
	b := newBench(t, nil, "appendonly yes", "appendfsync always")
	r := newRuns()
	release := make(chan struct{})
	f := startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		if job.UUID() == "fails" {
			return failed
		}
		return done
	})
	b.ready(t, text("a"), text("fails"))
	eventually(t, "the runs", func() bool { return r.count() == 2 })
	b.server.Kill()
	close(release)
	eventually(t, "the settlements to be refused", func() bool { return f.consumer.Health().SettleErr != nil })
	f.stopTaking() // the release script has come meanwhile: the verdicts wait all the same
	b.server.Start()
	f.stop(t)
	wantKeys(t, b, Keys{Pool: map[string]string{`{"uuid":"fails","retry":1,"last_error":"no"}`: "5s"}})
	if r.count() != 2 {
		t.Errorf("%d runs, want 2", r.count())
	}
}
