package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// dueJobs puts n jobs with one due time into the pool.
func dueJobs(t testing.TB, b bench, n int, due float64) {
	t.Helper()
	pipe := b.rdb.Pipeline()
	for i := range n {
		pipe.ZAdd(t.Context(), b.keys.Pool, redis.Z{Score: due, Member: text(fmt.Sprint(i))})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// C81, C92: the top of the hour, after a night with the sidecar off.
func TestTwentyThousandJobsDueAtOnceHoldUpNobody(t *testing.T) {
	const jobs = 20_000
	b := newBench(t, nil, "slowlog-log-slower-than 50000")
	dueJobs(t, b, jobs, b.nowMS(t)-1000)
	r := newRuns()
	five := func(o *queue.Options) { o.Workers = 5 }

	asked, slow := 0, 0 // PINGs; a busy machine may hold up a few, long scripts would most
	stop := make(chan struct{})
	var pings sync.WaitGroup
	pings.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				began := time.Now()
				_ = b.rdb.Ping(t.Context()).Err()
				asked++
				if time.Since(began) > 100*time.Millisecond {
					slow++
				}
			}
		}
	})
	f := startFlow(t, b, five, r.handler(done))
	deadline := time.Now().Add(2 * time.Minute)
	for r.count() < jobs && time.Now().Before(deadline) {
		wait(t.Context(), 50*time.Millisecond)
	}
	close(stop)
	pings.Wait()
	eventually(t, "all runs", func() bool { return r.count() == jobs && b.empty(t) })
	wantKeys(t, b, Keys{})
	if slow > 3+asked/10 {
		t.Errorf("%d of %d PINGs took more than 100ms", slow, asked)
	}
	if calls := b.rdb.SlowLogGet(t.Context(), 100).Val(); len(calls) > 20 { // of some thousand
		t.Errorf("%d commands took 50ms or more, the last %s", len(calls), calls[0].Args[0])
	}
	if most := f.gate.mostUsed(); most > 5 {
		t.Errorf("%d slots were taken, want at most 5", most)
	}
	if got := f.sum(t, "sidecar_redis_errors_total"); got != 0 {
		t.Errorf("%v errors, want none", got)
	}
}

// C40
func TestScoresInSecondsAreReportedOnce(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	for i := range 3 {
		b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)/1000+3600, text(fmt.Sprint(i)))
		eventually(t, "the job to run", func() bool { return r.count() == i+1 })
	}
	f.wantLogged(t, 1, "do not look like the topic's score_unit", "looks_like=s")
	eventually(t, "the incident", func() bool { return len(f.incidents.List()) > 0 })
	if list := f.incidents.List(); len(list) != 1 || list[0].Kind != queue.IncidentUnit || list[0].Detail != "s" || list[0].Topic != "mail" {
		t.Errorf("incidents are %+v", list)
	}
}

// No job of theirs is ever due, so that nothing but the pool's head tells of them.
func TestScoresInMicrosecondsAreReportedOnceWithoutARun(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, nil, r.handler(done))
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)*1000, text("a"), b.nowMS(t)*1000+1e6, text("b"))
	eventually(t, "the incident", func() bool { return len(f.incidents.List()) > 0 })
	b.ready(t, text("well"))
	eventually(t, "further looks", func() bool { return r.count() == 1 })
	if list := f.incidents.List(); len(list) != 1 || list[0].Kind != queue.IncidentUnit || list[0].Detail != "us" || list[0].Topic != "mail" {
		t.Errorf("incidents are %+v", list)
	}
	f.wantLogged(t, 1, "do not look like the topic's score_unit", "looks_like=us")
}

// C40
func TestATopicInSecondsIsOnTimeAndStaysInSeconds(t *testing.T) {
	seconds := func(o *queue.Options) { o.ScoreUnit = queue.Seconds }
	b := newBench(t, seconds)
	r := newRuns()
	f := startFlow(t, b, seconds, r.handler(failed))
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)/1000+0.2, text("a"), b.nowMS(t)/1000+3600, text("later"))
	eventually(t, "the job to fail", func() bool { return r.count() == 1 && b.size(t, b.keys.Pool) == 2 })
	wantKeys(t, b, Keys{Pool: map[string]string{`{"uuid":"a","retry":1,"last_error":"no"}`: "5s", text("later"): "3600s"}})
	if got := f.log.count("score_unit"); got != 0 {
		t.Errorf("%d warnings, want none", got)
	}
}

// C42, C44
func TestOddScoresRunAtOnceAndNeverSpin(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	startFlow(t, b, func(o *queue.Options) { o.ScanInterval = time.Second }, r.handler(done))
	eventually(t, "quiet", func() bool { return b.commands(t) > 0 })
	b.do(t, "ZADD", b.keys.Pool, "+inf", text("never"), "-inf", text("a"), -5, text("b"), 0, text("c"), "1760003600123.4567", text("d"))
	eventually(t, "the runs", func() bool { return r.count() == 4 })
	before := b.commands(t)
	wait(t.Context(), 2*time.Second)
	if got := b.commands(t) - before; got > 12 {
		t.Errorf("%d commands in 2s of waiting, want about 6", got)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{text("never"): "*"}})
}

func TestBackpressureIsToldOnceAndEnds(t *testing.T) {
	narrow := func(o *queue.Options) { o.ReadyMax, o.Workers = 1, 1 }
	b := newBench(t, narrow)
	dueJobs(t, b, 10, 1)
	r := newRuns()
	release := make(chan struct{})
	f := startFlow(t, b, narrow, r.halves(release))
	eventually(t, "backpressure", func() bool { return f.sum(t, "sidecar_backpressure") == 1 })
	eventually(t, "more of it", func() bool { return f.sum(t, "sidecar_backpressure_scans_total") > 3 })
	f.wantLogged(t, 1, "ready is full")
	close(release)
	eventually(t, "all runs", func() bool { return r.count() == 10 && b.empty(t) })
	eventually(t, "its end", func() bool { return f.sum(t, "sidecar_backpressure") == 0 })
	eventually(t, "the log to tell that it ended", func() bool { return f.log.count("ready has room again") > 0 })
}

func TestNoLogLineShowsAText(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	const phone = "13800138000"
	f := startFlow(t, b, nil, r.handler(failed))
	b.ready(t, `{"uuid":"a","phone":"`+phone+`"}`, phone)
	abandoned(t, b, `{"uuid":"b","phone":"`+phone+`"}`)
	eventually(t, "all to be settled", func() bool {
		return b.size(t, b.keys.Ready, b.keys.Running) == 0 && b.size(t, b.keys.Pool, b.keys.Dead) == 3
	})
	f.stop(t)
	if strings.Contains(f.log.String(), phone) {
		t.Error("the log shows a job's text")
	}
}

// One worker, and more jobs than it gets through: in ready they have no times.
func TestJobsThatWaitInReadyAreLate(t *testing.T) {
	t.Parallel()
	one := func(o *queue.Options) { o.Workers = 1 }
	b := newBench(t, one)
	dueJobs(t, b, 20, b.nowMS(t)-90_000)
	r, next := newRuns(), make(chan struct{})
	f := startFlow(t, b, one, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-next
		return done
	})
	count := func() queue.Depths {
		t.Helper()
		d, err := b.Depths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return f.consumer.Counted(d, nil)
	}
	for range 3 {
		next <- struct{}{}
	}
	eventually(t, "all to be promoted", func() bool { return b.size(t, b.keys.Pool) == 0 && r.count() == 4 })
	if d := count(); d.Ready == 0 || d.Due != 0 || d.OldestDueAge < 90*time.Second || d.OldestDueAge > 2*time.Minute {
		t.Errorf("%+v, want them to be late by a minute and a half", d)
	}
	old := f
	f = startAfter(t, old, b, one, r.handler(done))
	if d := count(); d.OldestDueAge < 90*time.Second {
		t.Errorf("after a reload: %+v", d)
	}
	close(next)
	old.stop(t)
	eventually(t, "all to be done", func() bool { return b.empty(t) })
	if d := count(); d.OldestDueAge != 0 {
		t.Errorf("when all is done: %+v", d)
	}
	b.ready(t, text("young"))
	if d := count(); d.OldestDueAge > 10*time.Second {
		t.Errorf("one that has just come: %+v", d)
	}
	f.stop(t)
}
