package fastcgi_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// C166: after many jobs, every tenth of them timing out and others cut in other ways, nothing is left.
func TestNothingLeaks(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f)
	dir := f.Shared()
	ok, killed, early := r.handler("ok"), r.handler("kill_self"), r.handler("finish_then_end")
	slow := r.handler("sleep", timeout(30*time.Millisecond))
	goroutines, files := runtime.NumGoroutine(), openFiles(t)

	ctx, cancel := context.WithCancel(t.Context())
	if err := r.pool.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.pool.Run(ctx) })
	var jobs sync.WaitGroup
	for worker := range 8 {
		jobs.Go(func() {
			for n := range 40 {
				switch n % 10 {
				case 3:
					wantVerdict(t, slow.Run(ctx, sleeper(t, fmt.Sprint(worker), dir, 10)), compat.TimedOut, "")
				case 5:
					wantVerdict(t, killed.Run(ctx, job(t, "")), compat.Crashed, "")
				case 7:
					wantVerdict(t, early.Run(ctx, job(t, "")), compat.Done, "")
				case 9:
					early, stop := context.WithTimeout(ctx, time.Millisecond)
					if got := slow.Run(early, sleeper(t, fmt.Sprint(worker), dir, 10)); got.Outcome.Verdict != compat.Unavailable && got.Outcome.Verdict != compat.TimedOut {
						t.Errorf("stopped early: %+v", got.Outcome)
					}
					stop()
				default:
					wantVerdict(t, ok.Run(ctx, job(t, "")), compat.Done, "")
				}
			}
		})
	}
	jobs.Wait()
	f.Stop()
	ok.Run(ctx, job(t, ""))
	cancel()
	wg.Wait()
	wantNoLeak(t, goroutines, files)
}

func TestMetricsAreWellFormed(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := fastcgi.NewMetrics(reg, []string{"default"}, []string{"mail"})
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen = "slow", "unix:///run/php/php-fpm.sock" // as a reload brings one
	fastcgi.NewPool(o, slog.New(slog.DiscardHandler), m).NewTopic(validTopic())
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(reg, "sidecar_fpm_stops_total"); n != 8 || err != nil {
		t.Errorf("%d series of stops from the start, %v", n, err)
	}
}

// The status page is read, and slots are taken back while others have all the children.
func TestSlotsGiveWayToOthers(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 3, StatusListen: true})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children, o.Status = 3, f.StatusListen })
	topic := r.handler("ok", func(o *fastcgi.TopicOptions) { o.Workers = 3 })
	web := r.handler("sleep")
	r.run()
	r.opened(topic)
	if n := topic.Acquire(t.Context(), 1); n != 1 { // one job in hand
		t.Fatal(n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for n := range 3 { // and three requests that hold no slot
		wg.Go(func() { web.Run(ctx, sleeper(t, fmt.Sprint("web", n), f.Shared(), 30)) })
	}
	testenv.Poll(t, 10*time.Second, "the slots to be taken back", func() bool {
		return !acquires(t, topic, 20*time.Millisecond)
	})
	cancel()
	wg.Wait()
	if !acquires(t, topic, 30*time.Second) {
		t.Error("the slots did not come back")
	}
	topic.Release(1)
}
