package fastcgi_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// callable writes a script that returns a callable with this body, and returns its path.
func callable(f *testenv.FPM, name, body string) string {
	return f.Script(name+".php", `<?php return function (array $job) { `+body+` };`)
}

func resident(o *fastcgi.TopicOptions) { o.Mode = fastcgi.ModeWorker }

// worker adds a topic of mode worker whose handler has this body.
func (r *rig) worker(name, body string, set ...func(*fastcgi.TopicOptions)) *fastcgi.Topic {
	r.t.Helper()
	return r.topic(callable(r.fpm, name, body), append([]func(*fastcgi.TopicOptions){resident}, set...)...)
}

// wantOutcome checks what a job came to, and that its error has says in it.
func wantOutcome(t testing.TB, got compat.Outcome, want compat.Verdict, says string) {
	t.Helper()
	wantVerdict(t, fastcgi.Result{Outcome: got}, want, says)
}

// handled is topic.Handle as a consumer has it: a job for which no worker was free goes back, and is handed over again. On a busy
// machine the next worker takes longer to start than a job waits.
func handled(ctx context.Context, topic *fastcgi.Topic, j compat.Job) compat.Outcome {
	for end := time.Now().Add(time.Minute); ; {
		got := topic.Handle(ctx, j)
		if got.Error != "no worker was free" || time.Now().After(end) {
			return got
		}
	}
}

func TestAWorkerServesJobAfterJob(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp=%v", tcp), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{TCP: tcp})
			r := newRig(t, f, func(o *fastcgi.PoolOptions) {
				if tcp {
					o.WorkerSocket = "tcp://127.0.0.1:0"
				}
			})
			pids := filepath.Join(f.Shared(), "pids")
			topic := r.worker("pid", `file_put_contents('`+pids+`', getmypid() . "\n", FILE_APPEND);`)
			r.run()
			r.opened(topic)
			for range 20 {
				wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
			}
			if got := len(distinctLines(t, pids)); got != 1 {
				t.Errorf("%d workers served 20 jobs that came one by one", got)
			}
			result := topic.Run(t.Context(), job(t, ""))
			wantVerdict(t, result, compat.Done, "")
			if result.PID == 0 || result.PHP == "" || result.Boot <= 0 || result.Memory <= 0 {
				t.Errorf("%+v", result)
			}
			if got := len(distinctLines(t, pids)); got != 2 {
				t.Errorf("%d workers after one run by hand", got)
			}
		})
	}
}

// handleAll runs n jobs through topic as a consumer does, and counts the verdicts. Those that are given back are run again.
func handleAll(ctx context.Context, topic *fastcgi.Topic, n int, text func(n int) compat.Job) map[compat.Verdict]int {
	var mu sync.Mutex
	got := map[compat.Verdict]int{}
	var next atomic.Int64
	again := make(chan int, n)
	take := func() int {
		select {
		case i := <-again:
			return i
		default:
			return int(next.Add(1)) - 1
		}
	}
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for left.Load() > 0 && ctx.Err() == nil {
		permits := topic.Acquire(ctx, 64)
		for range permits {
			i := take()
			if i >= n {
				topic.Release(1)
				if len(again) == 0 && left.Load() > 0 {
					wait, cancel := context.WithTimeout(ctx, time.Millisecond)
					<-wait.Done()
					cancel()
				}
				continue
			}
			wg.Go(func() {
				o := topic.Handle(ctx, text(i))
				topic.Release(1)
				mu.Lock()
				got[o.Verdict]++
				mu.Unlock()
				if o.Verdict == compat.Unavailable {
					again <- i
					return
				}
				left.Add(-1)
			})
		}
	}
	wg.Wait()
	return got
}

func BenchmarkWorker(b *testing.B) {
	f := testenv.StartFPM(b, testenv.FPMOptions{Opcache: true, Children: 4})
	r := newRig(b, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	topic := r.worker("noop", "", func(o *fastcgi.TopicOptions) { o.Workers, o.MaxJobs = 4, 1000000 })
	r.run()
	j := job(b, "")
	handleAll(b.Context(), topic, 1000, func(int) compat.Job { return j })
	b.ResetTimer()
	begin := time.Now()
	got := handleAll(b.Context(), topic, b.N, func(int) compat.Job { return j })
	b.ReportMetric(float64(got[compat.Done])/time.Since(begin).Seconds(), "jobs/s")
}

// BenchmarkWorkerRoutes is BenchmarkWorker with a target named by each job: a call and a script that returns a callable, in turn.
func BenchmarkWorkerRoutes(b *testing.B) {
	f := testenv.StartFPM(b, testenv.FPMOptions{Opcache: true, Children: 4})
	r := newRig(b, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	topic := r.routed(map[string]fastcgi.Target{"a": {Call: "noop"}, "b": {Script: callable(f, "noop", "")}}, resident, func(o *fastcgi.TopicOptions) {
		o.Bootstrap = f.Script("boot.php", `<?php function noop(array $job) {}`)
		o.Workers, o.MaxJobs = 4, 1000000
	})
	r.run()
	jobs := []compat.Job{typed(b, "a"), typed(b, "b")}
	next := func(n int) compat.Job { return jobs[n%len(jobs)] }
	handleAll(b.Context(), topic, 1000, next)
	b.ResetTimer()
	begin := time.Now()
	got := handleAll(b.Context(), topic, b.N, next)
	b.ReportMetric(float64(got[compat.Done])/time.Since(begin).Seconds(), "jobs/s")
}
