package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// paused is a pause without an end.
var paused = &queue.Pause{By: "cli ann@web1", Reason: "a move"}

// look tells the consumer what is paused now.
func (f *flow) look(t testing.TB, p *queue.Pause) {
	t.Helper()
	f.consumer.Look(t.Context(), time.Now(), p)
}

// wantHeld waits until the topic is held by exactly these kinds, and the metrics say so.
func (f *flow) wantHeld(t testing.TB, kinds ...queue.HoldKind) {
	t.Helper()
	eventually(t, fmt.Sprintf("it to be held by %v", kinds), func() bool {
		var got []queue.HoldKind
		for _, h := range f.consumer.Holds() {
			got = append(got, h.Kind)
		}
		return slices.Equal(got, kinds)
	})
	for _, kind := range queue.HoldKinds() {
		if kind == queue.HoldRate {
			continue // comes and goes
		}
		want := 0.0
		if slices.Contains(kinds, kind) {
			want = 1
		}
		eventually(t, fmt.Sprintf("sidecar_paused for %s to be %v", kind, want), func() bool { return f.sum(t, "sidecar_paused", kind.String()) == want })
	}
}

func TestAPausedTopicClaimsNothingAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r, release := newRuns(), make(chan struct{})
	f := startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	})
	b.ready(t, text("in hand"))
	eventually(t, "its run", func() bool { return r.count() == 1 })
	f.look(t, paused)
	f.wantHeld(t, queue.HoldManual)
	b.ready(t, text("ready"))
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t), text("due"))
	wait(t.Context(), 200*time.Millisecond)
	wantKeys(t, b, Keys{Pool: map[string]string{text("due"): "0s"}, Ready: []string{text("ready")}, Running: map[string]string{text("in hand"): "30s"}})
	close(release)
	eventually(t, "what is in hand to end", func() bool { return b.size(t, b.keys.Running) == 0 })
	scanned := f.consumer.Health().LastScan
	eventually(t, "a look at Redis", func() bool { return f.consumer.Health().LastScan.After(scanned) })
	if h := f.consumer.Health(); errors.Join(h.ScanErr, h.ClaimErr, h.SettleErr, h.StallErr) != nil || r.count() != 1 {
		t.Errorf("%+v, %d runs", h, r.count())
	}
	eventually(t, "all slots to be free", func() bool { return f.gate.inUse() == 0 })
	f.look(t, nil)
	eventually(t, "the others", func() bool { return r.count() == 3 && b.empty(t) })
	f.wantHeld(t)
	f.wantLogged(t, 1, "topic is paused", "kind=manual", "by=\"cli ann@web1\"")
	f.wantLogged(t, 1, "topic is paused no more", "kind=manual")
}

// What waits for a resident worker that is busy has been claimed and has not begun.
func TestClaimsAheadGoBackInTheirOrderAtAPause(t *testing.T) {
	t.Parallel()
	const claims, jobs = 8, 40
	b := newBench(t, nil)
	release := make(chan struct{})
	var waiting, ran atomic.Int64
	f := startAhead(t, b, claims, func(ctx context.Context, _ compat.Job) compat.Outcome {
		waiting.Add(1)
		for !compat.ClaimOf(ctx).Lapsed() { // as a crew looks before it gives a job to a worker
			select {
			case <-release:
				ran.Add(1)
				return done
			case <-time.After(time.Millisecond):
			}
		}
		return compat.Outcome{Verdict: compat.Unavailable, Error: "not started"}
	})
	var texts []string
	for i := range jobs {
		texts = append(texts, text(fmt.Sprint(i)))
	}
	b.ready(t, texts...)
	eventually(t, "the look-ahead", func() bool { return waiting.Load() == 2*claims })
	f.look(t, paused)
	eventually(t, "the claims to go back", func() bool { return b.size(t, b.keys.Running) == 0 })
	wantKeys(t, b, Keys{Ready: texts})
	eventually(t, "all permits to be free", func() bool { return f.gate.inUse() == 0 })
	close(release)
	f.look(t, nil)
	eventually(t, "all to run", func() bool { return ran.Load() == jobs && b.empty(t) })
}

func TestAPauseWithAnEndEndsWithoutAWord(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	now := time.Now()
	p := &queue.Pause{At: now, Until: now.Add(time.Hour), By: "x"}
	f.consumer.Look(t.Context(), now, p)
	f.wantHeld(t, queue.HoldManual)
	f.consumer.Look(t.Context(), now.Add(time.Hour), p)
	f.wantHeld(t)
	b.ready(t, text("a"))
	eventually(t, "a run", func() bool { return r.count() == 1 })
}

func TestAPausedTopicIsNoStall(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, r := newOddGate(4), newRuns()
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, r.handler(done))
	f.look(t, paused)
	b.ready(t, text("a"))
	b.do(t, "ZADD", b.keys.Pool, 1, text("due"))
	wait(t.Context(), 4*stallAfter)
	if n := f.sum(t, "sidecar_stalls_total"); n != 0 || f.consumer.Health().StallErr != nil {
		t.Errorf("%v stalls, %v", n, f.consumer.Health().StallErr)
	}
	f.look(t, nil)
	eventually(t, "both", func() bool { return r.count() == 2 })
}

func TestAReloadKeepsAPauseAndWhatWasUsedOfTheRate(t *testing.T) {
	t.Parallel()
	slow := func(o *queue.Options) { o.Rate = queue.Rate{N: 1, Per: time.Hour} }
	b := newBench(t, slow)
	r := newRuns()
	old := startFlow(t, b, slow, r.handler(done))
	b.ready(t, text("a"), text("b"))
	eventually(t, "the only run of this hour", func() bool { return r.count() == 1 })
	f := startAfter(t, old, b, slow, r.handler(done))
	old.stop(t)
	eventually(t, "the rate to hold it", func() bool {
		return slices.ContainsFunc(f.consumer.Holds(), func(h queue.Hold) bool { return h.Kind == queue.HoldRate })
	})
	f.look(t, paused)
	next := startAfter(t, f, b, func(*queue.Options) {}, r.handler(done))
	f.stop(t)
	wait(t.Context(), 100*time.Millisecond)
	if holds := next.consumer.Holds(); len(holds) == 0 || holds[0].Kind != queue.HoldManual || r.count() != 1 {
		t.Errorf("held by %+v, %d runs, want the pause and 1", holds, r.count())
	}
	next.look(t, nil)
	eventually(t, "the second job, which no rate holds now", func() bool { return r.count() == 2 })
}

func TestABreakerPausesProbesAndOpens(t *testing.T) {
	t.Parallel()
	broken := func(o *queue.Options) {
		o.Breaker, o.BreakerProbe, o.Workers = 3, time.Second, 2
		o.Retry = []time.Duration{time.Hour} // nothing comes back while it is looked at
	}
	b := newBench(t, broken)
	r := newRuns()
	var works atomic.Bool
	f := startFlow(t, b, broken, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if works.Load() {
			return done
		}
		return compat.Outcome{Verdict: compat.Failed, Error: "no database for " + job.UUID()}
	})
	for i := range 30 {
		b.ready(t, text(fmt.Sprint("j", i)))
	}
	f.wantHeld(t, queue.HoldBreaker)
	tripped := r.count()
	if tripped > 3+2 { // what was under way as it tripped
		t.Errorf("%d runs until it tripped, want 3 and at most one a worker more", tripped)
	}
	eventually(t, "probes", func() bool { return r.count() >= tripped+2 })
	f.wantSum(t, 1, "sidecar_breaker_trips_total")
	f.wantLogged(t, 1, "topic is paused on this sidecar", "class=\"failed: no database for #\"")
	works.Store(true)
	eventually(t, "all that is ready to be done", func() bool { return b.size(t, b.keys.Ready, b.keys.Running) == 0 })
	f.wantHeld(t)
	failures := b.size(t, b.keys.Pool)
	f.wantSum(t, float64(failures), "sidecar_outcomes_total", "failed")
	f.wantSum(t, float64(30-failures), "sidecar_outcomes_total", "done")
}

func TestABreakerLetsOneJobThroughAtATime(t *testing.T) {
	t.Parallel()
	broken := func(o *queue.Options) { o.Breaker, o.BreakerProbe, o.Workers = 2, 100*time.Millisecond, 4 }
	b := newBench(t, broken)
	var count atomic.Int64
	probing := make(chan struct{})
	f := startFlow(t, b, broken, func(context.Context, compat.Job) compat.Outcome {
		if count.Add(1) > 4 { // more than were claimed before it tripped
			<-probing
			return done
		}
		return failed
	})
	b.ready(t, text("a"), text("b"), text("c"), text("d"))
	f.wantHeld(t, queue.HoldBreaker)
	eventually(t, "all four to fail", func() bool { return f.sum(t, "sidecar_outcomes_total", "failed") >= 2 })
	for i := range 10 {
		b.ready(t, text(fmt.Sprint("late", i)))
	}
	eventually(t, "a probe that hangs", func() bool { return count.Load() == 5 })
	wait(t.Context(), 300*time.Millisecond)
	if n := count.Load(); n != 5 {
		t.Errorf("%d runs, want one beside the four", n)
	}
	close(probing)
	eventually(t, "all", func() bool { return b.size(t, b.keys.Ready, b.keys.Running) == 0 })
	f.wantHeld(t)
}

func TestARateHoldsAndKeepsNoSlotMeanwhile(t *testing.T) {
	t.Parallel()
	hundred := func(o *queue.Options) { o.Rate = queue.Rate{N: 100, Per: time.Second} }
	b := newBench(t, hundred)
	b.fill(t, b.keys.Ready, "list", 1000)
	var n atomic.Int64
	began := time.Now()
	f := startFlow(t, b, hundred, func(context.Context, compat.Job) compat.Outcome {
		n.Add(1)
		return done
	})
	eventually(t, "60 jobs", func() bool { return n.Load() >= 60 })
	got := n.Load()
	took := time.Since(began) // later than the look at n
	if most := 10 + 100*took.Seconds() + 1; float64(got) > most {
		t.Errorf("%d in %s", got, took)
	}
	if took < 450*time.Millisecond {
		t.Errorf("60 jobs took %s: want 10 at once and 50 at 100/s", took)
	}
	eventually(t, "a moment in which the rate holds and no slot is kept", func() bool {
		return f.gate.inUse() == 0 && slices.ContainsFunc(f.consumer.Holds(), func(h queue.Hold) bool { return h.Kind == queue.HoldRate })
	})
}

// Two processes share what Redis says.
func TestTwoSidecarsShareAPause(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r := newRuns()
	var flows []*flow
	var watches []*queue.PauseWatch
	pauses := queue.NewPauses(b.rdb, "")
	for range 2 {
		f := startFlow(t, b, nil, r.handler(done))
		w := queue.NewPauseWatch(pauses, map[string]*queue.Consumer{"mail": f.consumer}, slog.New(slog.DiscardHandler))
		go w.Run(t.Context())
		flows, watches = append(flows, f), append(watches, w)
	}
	if _, err := pauses.Set(t.Context(), "mail", 0, "cli", ""); err != nil {
		t.Fatal(err)
	}
	if err := watches[0].Look(t.Context()); err != nil || len(flows[0].consumer.Holds()) != 1 {
		t.Errorf("the process that was asked is not held at once: %v", err)
	}
	for _, f := range flows {
		f.wantHeld(t, queue.HoldManual)
	}
	b.ready(t, text("a"))
	wait(t.Context(), 200*time.Millisecond)
	wantKeys(t, b, Keys{Ready: []string{text("a")}})
	if _, _, err := pauses.Clear(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the job", func() bool { return r.count() == 1 && b.empty(t) })
}

func TestWhatWasKnownOfAPauseHoldsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var away atomic.Bool
	proxy := newProxy(t, b.server.Addr, func([]string) string {
		if away.Load() {
			return hangUp
		}
		return forward
	})
	rdb := open(t, queue.RedisOptions{URL: "redis://" + proxy.addr}, "mail")
	f := startFlow(t, b, nil, newRuns().handler(done))
	pauses := queue.NewPauses(b.rdb, "")
	w := queue.NewPauseWatch(queue.NewPauses(rdb, ""), map[string]*queue.Consumer{"mail": f.consumer}, slog.New(slog.DiscardHandler))
	if _, err := pauses.Set(t.Context(), "mail", 1500*time.Millisecond, "cli", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	if err := w.Look(t.Context()); err == nil {
		t.Fatal("redis is not away")
	}
	f.wantHeld(t, queue.HoldManual)
	eventually(t, "its end, which is known", func() bool {
		_ = w.Look(t.Context())
		return len(f.consumer.Holds()) == 0
	})
}

func TestAWindowPausesATopicFromItsConsumersFirstMoment(t *testing.T) {
	t.Parallel()
	window, err := queue.ParseWindow("02:00-04:00")
	if err != nil {
		t.Fatal(err)
	}
	night := func(o *queue.Options) { o.PauseWindows = []queue.Window{window} }
	b := newBench(t, night)
	r := newRuns()
	f := startFlow(t, b, night, r.handler(done))
	at := time.Date(2026, 6, 3, 2, 30, 0, 0, time.UTC)
	f.consumer.Look(t.Context(), at, nil)
	f.wantHeld(t, queue.HoldWindow)
	if h := f.consumer.Holds()[0]; !h.Until.Equal(at.Add(90*time.Minute)) || h.Reason != "02:00-04:00" {
		t.Errorf("held by %+v", h)
	}
	b.ready(t, text("a"))
	wait(t.Context(), 100*time.Millisecond)
	if r.count() != 0 {
		t.Error("a job ran in the window")
	}
	f.consumer.Look(t.Context(), at.Add(90*time.Minute), nil)
	eventually(t, "the job", func() bool { return r.count() == 1 })
	f.wantHeld(t)
}
