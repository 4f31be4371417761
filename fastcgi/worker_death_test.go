package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// numbered makes jobs that tell each other apart.
func numbered(t testing.TB) func(int) compat.Job {
	return func(n int) compat.Job { return job(t, fmt.Sprintf(`{"uuid":"u%d","n":%d}`, n, n)) }
}

// ran returns how often each job has run: handlers add a line a job.
func ran(t testing.TB, path string) map[string]int { return distinctLines(t, path) }

// appends is a handler's body that notes the job in a file.
func appends(path string) string {
	return `file_put_contents('` + path + `', $job['n'] . "\n", FILE_APPEND | LOCK_EX);`
}

// Workers are killed at random under load: every job runs, only those in hand are crashed, none runs twice unnoticed.
func TestKilledWorkersCostOnlyTheJobInHand(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4, Opcache: true})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	runs := filepath.Join(f.Shared(), "runs")
	topic := r.worker("count", appends(runs), func(o *fastcgi.TopicOptions) { o.Workers = 4 })
	r.run()
	r.opened(topic)
	const n = 10000
	ctx, cancel := context.WithCancel(t.Context())
	killed, length := 0, int64(0)
	var killer sync.WaitGroup
	killer.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			noted, err := os.Stat(runs)
			if err != nil || noted.Size() == length {
				continue // a busy machine starts them more slowly than they would be killed
			}
			length = noted.Size()
			if pids := f.Children(); len(pids) > 0 {
				_ = syscall.Kill(pids[killed%len(pids)], syscall.SIGKILL)
				killed++
			}
		}
	})
	got := handleAll(t.Context(), topic, n, numbered(t))
	cancel()
	killer.Wait()
	seen, twice := ran(t, runs), 0
	for _, times := range seen {
		twice += times - 1
	}
	t.Logf("%v, %d kills, %d lines", got, killed, len(seen))
	if got[compat.Done]+got[compat.Crashed] != n {
		t.Errorf("%v of %d", got, n)
	}
	if len(seen) < got[compat.Done] || got[compat.Crashed] > killed {
		t.Errorf("%d ran, %v, %d kills", len(seen), got, killed)
	}
	if twice > 0 {
		t.Errorf("%d ran twice, and no verdict said so", twice)
	}
}

// A job that always kills its worker is the only one that pays for it.
func TestAPoisonJobHarmsNoOther(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.worker("poison", `if ($job['n'] % 50 === 7) { error_log('poison ' . $job['n']); posix_kill(getmypid(), 9); }`)
	r.run()
	r.opened(topic)
	got := handleAll(t.Context(), topic, 1000, numbered(t))
	if got[compat.Crashed] != 20 || got[compat.Done] != 980 {
		t.Errorf("%v", got)
	}
	o := handled(t.Context(), topic, job(t, `{"n":7}`))
	wantOutcome(t, o, compat.Crashed, "child died")
}

// An idle worker does not hold up FPM's reload, and a busy one only as long as its job.
func TestReloadsOfFPMAreNotHeldUp(t *testing.T) {
	for _, patience := range []time.Duration{0, 10 * time.Second} {
		t.Run(patience.String(), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{Children: 3, ProcessControlTimeout: patience})
			r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 3 })
			topic := r.worker("quick", `if ($us = $job['us'] ?? 0) { touch('`+f.Shared()+`/begun'); } $end = hrtime(true) + 1000 * $us; while (hrtime(true) < $end);`,
				func(o *fastcgi.TopicOptions) { o.MinWorkers = 1 })
			web := r.handler("ok")
			r.run()
			r.opened(topic)
			serves := func() {
				t.Helper()
				testenv.Poll(t, 5*time.Second, "other requests and workers to be served", func() bool { // a master that is just starting misses a SIGTERM
					return web.Run(t.Context(), job(t, "")).Outcome.Verdict == compat.Done && handled(t.Context(), topic, job(t, "")).Verdict == compat.Done
				})
			}
			quickest := time.Hour
			// The machine may be slow once or twice, a worker that waited for its look would be each time.
			for n := 0; n < 3 || n < 20 && quickest > 250*time.Millisecond; n++ {
				serves()
				old, began := f.Children(), time.Now()
				f.Reload()
				wantGone(t, old)
				quickest = min(quickest, time.Since(began))
			}
			if quickest > 250*time.Millisecond {
				t.Errorf("the old children were gone after %s at best", quickest)
			}

			serves()
			old := f.Children()
			outcome := make(chan compat.Outcome, 1)
			go func() { outcome <- topic.Handle(t.Context(), job(t, `{"us":2000000}`)) }()
			testenv.Poll(t, 5*time.Second, "the job to be under way", func() bool { return begun(f) })
			f.Reload()
			o := <-outcome
			if patience == 0 {
				wantOutcome(t, o, compat.Crashed, "child died")
			} else {
				wantOutcome(t, o, compat.Done, "")
			}
			wantGone(t, old)
			serves()
		})
	}
}

// wantGone waits until children of FPM have ended: less than the 10 s they would have if they did not look, with room for a busy machine.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	began := time.Now()
	testenv.Poll(t, 8*time.Second, "the old children to be gone", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return err == nil
		})
	})
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the old children were gone after %s", took)
	}
}

func TestWorkersComeBackAfterARestartOfFPM(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f)
	runs := filepath.Join(f.Shared(), "runs")
	topic := r.worker("count", appends(runs))
	r.run()
	r.opened(topic)
	done := make(chan struct{})
	const n = 6000
	var got map[compat.Verdict]int
	go func() {
		defer close(done)
		got = handleAll(t.Context(), topic, n, numbered(t))
	}()
	for i := range 4 {
		testenv.Poll(t, 20*time.Second, "jobs to run", func() bool {
			text, _ := os.ReadFile(runs)
			return strings.Count(string(text), "\n") > (i+1)*800
		})
		if i%2 == 0 {
			f.Stop()
			f.Start()
		} else {
			f.Reload()
		}
	}
	<-done
	if got[compat.Done]+got[compat.Crashed] != n || got[compat.Crashed] > 4*2 {
		t.Errorf("%v", got)
	}
	for line, times := range ran(t, runs) {
		if times != 1 {
			t.Errorf("job %q ran %d times", line, times)
		}
	}
}

// What is stopped from outside gives everything back: goroutines, descriptors, slots, children.
func TestNothingOfWorkersLeaks(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	quick := r.worker("quick", `if ($job['n'] % 97 === 0) { posix_kill(getmypid(), 9); } if ($job['n'] % 31 === 0) { exit; }`,
		func(o *fastcgi.TopicOptions) { o.Workers, o.MaxJobs = 4, 50 })
	slow := r.worker("slow", `usleep(10000000);`, timeout(100*time.Millisecond))
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	ctx, cancel := context.WithCancel(t.Context())
	if err := r.pool.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { r.pool.Run(ctx) })
	r.opened(quick)
	r.opened(slow)
	var jobs sync.WaitGroup
	jobs.Go(func() { handleAll(ctx, quick, 3000, numbered(t)) })
	jobs.Go(func() {
		for range 5 {
			o := slow.Handle(ctx, job(t, ""))
			if o.Verdict != compat.TimedOut && o.Verdict != compat.Unavailable {
				t.Errorf("%+v", o)
			}
		}
	})
	jobs.Wait()
	quick.Drain()
	cancel()
	running.Wait()
	wantNoLeak(t, goroutines, files)
	testenv.Poll(t, 5*time.Second, "the children to be free", func() bool {
		return len(f.Children()) == 4
	})
	if used := fastcgi.SlotsUsed(r.pool); used != 0 {
		t.Errorf("%d slots are still taken", used)
	}
}

// The sidecar's stop: jobs in hand are stopped, those that wait come back, and nobody waits for the timeout.
func TestStoppingStopsWorkers(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	marks := f.Shared()
	topic := r.worker("sleeps", `file_put_contents('`+marks+`/' . $job['uuid'], 'x'); usleep(20000000); file_put_contents('`+marks+`/' . $job['uuid'] . '.end', 'x');`)
	r.run()
	r.opened(topic)
	ctx, cancel := context.WithCancel(t.Context())
	outcomes := make(chan compat.Outcome, 6)
	for n := range 2 {
		go func() { outcomes <- topic.Handle(ctx, job(t, fmt.Sprintf(`{"uuid":"u%d"}`, n))) }()
	}
	testenv.Poll(t, 5*time.Second, "both to run", func() bool {
		_, err := os.Stat(marks + "/u0")
		_, err2 := os.Stat(marks + "/u1")
		return err == nil && err2 == nil
	})
	began := time.Now()
	wantOutcome(t, topic.Handle(t.Context(), job(t, `{"uuid":"late"}`)), compat.Unavailable, "no worker was free")
	if took := time.Since(began); took > 8*time.Second { // less than the workers have to do
		t.Errorf("a job that found no worker came back after %s", took)
	}
	go func() { outcomes <- topic.Handle(ctx, job(t, `{"uuid":"u2"}`)) }()
	began = time.Now()
	topic.Drain()
	wantOutcome(t, <-outcomes, compat.Unavailable, "before the script started")
	cancel()
	for range 2 {
		wantOutcome(t, <-outcomes, compat.Unavailable, "stopped the script")
	}
	if took := time.Since(began); took > 8*time.Second { // likewise
		t.Errorf("it took %s", took)
	}
	wantOutcome(t, topic.Handle(t.Context(), job(t, "")), compat.Unavailable, "")
}
