package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// one is for topics with a single worker.
func one(o *fastcgi.TopicOptions) { o.Workers = 1 }

// Stderr names no job, and quick jobs follow each other faster than it is read: nobody is to find another's words in
// the log or in a dead record.
func TestStderrIsThatOfItsOwnJob(t *testing.T) {
	t.Parallel()
	for _, logs := range []bool{true, false} {
		t.Run(fmt.Sprintf("log_stderr=%v", logs), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{Opcache: true})
			r := newRig(t, f)
			topic := r.worker("says", `error_log('of ' . $job['uuid'] . '.'); return $job['ok'];`, one, func(o *fastcgi.TopicOptions) {
				o.LogStderr, o.FailOnFalse = logs, true
			})
			r.run()
			r.opened(topic)
			for range 40 { // until they are known to be quick
				wantOutcome(t, handled(t.Context(), topic, job(t, `{"uuid":"before","ok":true}`)), compat.Done, "")
			}
			var wg sync.WaitGroup
			for n := range 400 {
				wg.Go(func() {
					o := handled(t.Context(), topic, job(t, fmt.Sprintf(`{"uuid":"u%d","ok":%v}`, n, n%2 == 0)))
					if own := fmt.Sprintf("of u%d.", n); o.Verdict == compat.Failed && (strings.Count(o.Trace, "of ") != 1 || !strings.Contains(o.Trace, own)) {
						t.Errorf("job u%d failed with the stderr %q", n, o.Trace)
					}
				})
				if n%8 == 7 {
					wg.Wait()
				}
			}
			wg.Wait()
			for line := range strings.Lines(r.log.String()) {
				_, about, logged := strings.Cut(line, "uuid=")
				uuid, said, _ := strings.Cut(about, " ")
				if logged && strings.Contains(line, "stderr of a job") && (strings.Count(said, "of ") != 1 || !strings.Contains(said, "of "+uuid+".")) {
					t.Errorf("stderr of another job: %s", line)
				}
			}
		})
	}
}

// What a handler starts in the background inherits the worker's connections, and while it lives nobody sees their end.
func TestADeadWorkersConnectionsMayOutliveIt(t *testing.T) {
	t.Parallel()
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp=%v", tcp), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, TCP: tcp})
			r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 1 })
			topic := r.worker("starts", `
				exec('sleep 60 > /dev/null 2>&1 & echo $! >> `+f.Shared()+`/started');
				if ($job['sleep']) { usleep(1500000); }
				if ($job['die']) { posix_kill(getmypid(), 9); }`, one)
			t.Cleanup(func() { killListed(t, filepath.Join(f.Shared(), "started")) })
			r.run()
			r.opened(topic)
			wantOutcome(t, handled(t.Context(), topic, job(t, `{"die":false,"sleep":false}`)), compat.Done, "")
			began := time.Now()
			o := handled(t.Context(), topic, job(t, fmt.Sprintf(`{"die":true,"sleep":%v}`, tcp))) // on TCP a child is looked for after a second
			wantOutcome(t, o, compat.Crashed, "what it had started holds the connection")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("seen after %s only, the timeout is 20s", took)
			}
			testenv.Poll(t, 10*time.Second, "another worker to serve", func() bool {
				return handled(t.Context(), topic, job(t, `{"die":false,"sleep":false}`)).Verdict == compat.Done
			})
		})
	}
}

// killListed ends the processes that a handler of ours has started.
func killListed(t *testing.T, path string) {
	t.Helper()
	for line := range distinctLines(t, path) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Shutdown functions that jobs have registered run when the worker ends, and take their time.
func TestShutdownFunctionsOfJobsAreWaitedFor(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 1 })
	mark := filepath.Join(f.Shared(), "mark")
	topic := r.worker("later", `if ($job['later']) register_shutdown_function(function () {
		for ($i = 0; $i < 40; $i++) { usleep(100000); }
		file_put_contents('`+mark+`', 'x');
	});`, one)
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, `{"later":true}`)), compat.Done, "")
	topic.Renew()
	testenv.Poll(t, 15*time.Second, "the shutdown function", func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
	testenv.Poll(t, 5*time.Second, "another worker", func() bool {
		return handled(t.Context(), topic, job(t, `{"later":false}`)).Verdict == compat.Done
	})
	testenv.Poll(t, 5*time.Second, "a renewed worker to be counted", func() bool { return r.recycles("renew") > 0 })
	if got := r.recycles("renew"); got != 1 {
		t.Errorf("%v workers renewed", got)
	}
}

// Garbage is collected between jobs. What its destructors do ends the worker and costs no job; the log tells.
func TestADeathBetweenTwoJobsIsTold(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.worker("garbage", `
		if (!class_exists('Cycle', false)) {
			eval('class Cycle { public $self; function __destruct() { throw new Exception("too late"); } }');
		}
		$cycle = new Cycle();
		$cycle->self = $cycle;`, one)
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	r.recycled("died")
	testenv.Poll(t, 5*time.Second, "the log to tell of it", func() bool {
		log := r.log.String()
		return strings.Contains(log, "a worker died between two jobs") && strings.Contains(log, "too late")
	})
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
}

// A max_memory below what a worker holds at its start is a mistake that costs speed: no loop of starts, and it is said.
func TestATightMaxMemoryIsToldAndNoLoop(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.worker("small", "", func(o *fastcgi.TopicOptions) { o.MaxMemory, o.MinWorkers = 1, 1 })
	r.run()
	r.opened(topic)
	testenv.Poll(t, 10*time.Second, "an idle worker", func() bool { return r.workers("idle") == 1 })
	for range 5 {
		wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	}
	testenv.Poll(t, 10*time.Second, "an idle worker again", func() bool { return r.workers("idle") == 1 })
	testenv.Poll(t, 10*time.Second, "the log to say it", func() bool { return strings.Contains(r.log.String(), "max_memory is less") })
	if got := strings.Count(r.log.String(), "max_memory is less"); got != 1 {
		t.Errorf("said %d times", got)
	}
	if got := r.recycles("max_memory"); got > 6 {
		t.Errorf("%v workers ended for 5 jobs", got)
	}
}

// While the only worker takes long to leave, no jobs are claimed just to be given back.
func TestNothingIsClaimedForAWorkerThatTakesLongToLeave(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 1 })
	topic := r.worker("lingers", `if ($job['linger'] ?? false) register_shutdown_function('usleep', 2000000);`, one)
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, `{"linger":true}`)), compat.Done, "")
	topic.Renew()
	testenv.Poll(t, 5*time.Second, "the worker to leave", func() bool { return r.workers("leaving") == 1 })
	got := handleAll(t.Context(), topic, 200, numbered(t))
	// A window of 64 or two come back before it is known to take long; without that it would be one every 100 ms, for 2 s.
	if got[compat.Done] != 200 || got[compat.Unavailable] > 5*64 {
		t.Errorf("%v", got)
	}
}

// A topic whose weight is worth less than one child gets a worker now and then, also while another keeps all it has busy.
func TestALightTopicsWorkerGetsItsTurn(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	heavy := r.worker("heavy", `usleep(20000);`, func(o *fastcgi.TopicOptions) { o.Weight, o.MinWorkers = 5, 2 })
	light := r.worker("light", "", func(o *fastcgi.TopicOptions) { o.Topic = "light" })
	plain := r.handler("ok", func(o *fastcgi.TopicOptions) { o.Topic = "plain" })
	r.run()
	for _, topic := range []*fastcgi.Topic{heavy, light, plain} {
		r.opened(topic)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { handleAll(ctx, heavy, 1<<20, numbered(t)) })
	testenv.Poll(t, 10*time.Second, "the heavy topic to have all", func() bool { return fastcgi.TopicSlots(heavy) == 2 })
	for name, topic := range map[string]*fastcgi.Topic{"light": light, "plain": plain} {
		turn, stop := context.WithTimeout(ctx, 15*time.Second)
		if got := handleAll(turn, topic, 20, numbered(t)); got[compat.Done] != 20 {
			t.Errorf("%s: %v", name, got)
		}
		stop()
	}
	cancel()
	wg.Wait()
}
