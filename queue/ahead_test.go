package queue_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// startAhead is startFlow for two workers that have so many claims each, and a Gate with as many permits.
func startAhead(t testing.TB, b bench, claims int, handle func(context.Context, compat.Job) compat.Outcome) *flow {
	t.Helper()
	return startFlow(t, b, func(o *queue.Options) { o.Workers, o.LookAhead = 2, claims }, handle)
}

func TestClaimsAheadGoBackInTheirOrderWhenNothingNewIsToStart(t *testing.T) {
	const claims, jobs = 8, 40
	b := newBench(t, nil)
	drained := make(chan struct{})
	var waiting atomic.Int64
	f := startAhead(t, b, claims, func(context.Context, compat.Job) compat.Outcome {
		waiting.Add(1)
		<-drained // as the handler does that has one worker, which is busy
		return compat.Outcome{Verdict: compat.Unavailable, Error: "not started"}
	})
	var texts []string
	for i := range jobs {
		texts = append(texts, text(fmt.Sprint(i)))
	}
	b.ready(t, texts...)
	eventually(t, "the look-ahead", func() bool { return waiting.Load() == 2*claims })
	if got := f.consumer.Health().InHand; got != 2*claims {
		t.Errorf("%d in hand, want %d", got, 2*claims)
	}
	f.stopTaking()
	close(drained)
	f.stop(t)
	wantKeys(t, b, Keys{Ready: texts})
	if got := f.gate.inUse(); got != 0 {
		t.Errorf("%d permits are not given back", got)
	}
}

func TestALookAheadPaysFewRoundTrips(t *testing.T) {
	const jobs = 2000
	b := newBench(t, nil)
	b.fill(t, b.keys.Ready, "list", jobs)
	var n atomic.Int64
	f := startAhead(t, b, 64, func(context.Context, compat.Job) compat.Outcome {
		n.Add(1)
		return done
	})
	eventually(t, "the jobs", func() bool { return n.Load() == jobs && b.empty(t) })
	f.stop(t)
	// A claim of 128 and completions of as many would make 32; idle looks and a slow start are some more, the more others
	// keep the machine busy. Job by job it would be twice as many as jobs.
	if calls := b.calls(t); calls > jobs/4 {
		t.Errorf("%d script calls for %d jobs", calls, jobs)
	}
}

func TestAJobThatComesWhileAWorkerIsFreeDoesNotWaitForABatch(t *testing.T) {
	b := newBench(t, nil)
	var started atomic.Int64
	release := make(chan struct{})
	f := startAhead(t, b, 64, func(context.Context, compat.Job) compat.Outcome {
		started.Add(1)
		<-release
		return done
	})
	for i := range 16 { // one by one, up to what both workers and their sockets hold
		b.ready(t, text(fmt.Sprint(i)))
		eventually(t, "its start", func() bool { return started.Load() == int64(i+1) })
	}
	close(release)
	f.stop(t)
	wantKeys(t, b, Keys{})
}

func TestARunThatKnowsItsTimeIsMeasuredByIt(t *testing.T) {
	b := newBench(t, nil)
	f := startFlow(t, b, nil, func(context.Context, compat.Job) compat.Outcome {
		return compat.Outcome{Verdict: compat.Done, Took: time.Hour}
	})
	b.ready(t, text("1"))
	eventually(t, "the job", func() bool { return b.empty(t) })
	f.stop(t)
	families, err := f.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "sidecar_run_duration_seconds" {
			continue
		}
		if got := family.GetMetric()[0].GetHistogram().GetSampleSum(); got != 3600 {
			t.Errorf("%f s of runs measured, want 3600", got)
		}
		return
	}
	t.Error("no duration is measured")
}
