package fastcgi_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// laterClass is a topic whose class is not there; the function it returns puts it into the bootstrap file.
func laterClass(t *testing.T, r *rig, set ...func(*fastcgi.TopicOptions)) (topic *fastcgi.Topic, deploy func()) {
	t.Helper()
	boot := r.fpm.Script("boot.php", "<?php\n")
	topic = r.topic("", append(set, func(o *fastcgi.TopicOptions) { o.Call, o.Bootstrap = "Later::handle", boot })...)
	return topic, func() {
		code := "<?php class Later { public static function handle(array $job) {} }\n"
		if err := os.WriteFile(boot, []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// consume runs jobs on topic as a Feeder does, until the test ends, and counts the runs by verdict.
func consume(t *testing.T, topic *fastcgi.Topic) (refused, done *atomic.Int64) {
	t.Helper()
	refused, done = new(atomic.Int64), new(atomic.Int64)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, text := make(chan struct{}), job(t, "")
	go func() {
		defer close(ended)
		for ctx.Err() == nil && topic.Acquire(ctx, 1) == 1 {
			switch topic.Handle(ctx, text).Verdict { //nolint:exhaustive // no others are expected, and none counts
			case compat.Unavailable:
				refused.Add(1)
			case compat.Done:
				done.Add(1)
			}
			topic.Release(1)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return refused, done
}

// eachWay runs a test in mode request and in mode worker.
func eachWay(t *testing.T, test func(t *testing.T, way func(*fastcgi.TopicOptions))) {
	for name, way := range map[string]func(*fastcgi.TopicOptions){"request": func(*fastcgi.TopicOptions) {}, "worker": resident} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, way) })
	}
}

// A class that is not there is the deployment's fault, not the job's, and no check can see it. One job after the other
// is let through to find out, ever more seldom, and in between nobody is told that the jobs can start.
func TestAMissingClassShutsTheGateUntilATrialSucceeds(t *testing.T) {
	eachWay(t, func(t *testing.T, way func(*fastcgi.TopicOptions)) {
		r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{}))
		topic, deploy := laterClass(t, r, way)
		r.run()
		r.opened(topic)
		refused, done := consume(t, topic)
		testenv.Poll(t, 10*time.Second, "some trials", func() bool { return refused.Load() >= 4 })
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); <-time.After(time.Millisecond) {
			if topic.Health() == nil || topic.Blocked() == nil {
				t.Fatal("the gate opens although there is no such class")
			}
		}
		if n := strings.Count(r.log.String(), "the topic's jobs cannot start"); n != 1 {
			t.Errorf("said %d times that the jobs cannot start, want once:\n%s", n, r.log)
		}
		// By now a trial is seconds away; a file that changes is reason enough for one at once.
		deploy()
		r.opened(topic)
		testenv.Poll(t, 10*time.Second, "jobs to run", func() bool { return done.Load() > 2 })
		if n := strings.Count(r.log.String(), "the topic's jobs can start"); n != 2 { // at the start, and now
			t.Errorf("said %d times that the jobs can start, want twice:\n%s", n, r.log)
		}
	})
}

func TestTrialsBecomeEverMoreSeldomAndAHangupAsksForOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{}))
	topic, _ := laterClass(t, r)
	r.run()
	r.opened(topic)
	refused, _ := consume(t, topic)
	quiet := func() bool { // none within a second: the next is more than that away
		before := refused.Load()
		<-time.After(time.Second)
		return refused.Load() == before
	}
	testenv.Poll(t, 30*time.Second, "trials to become seldom", quiet)
	if n := refused.Load(); n > 12 {
		t.Errorf("%d trials before a second passed without one", n)
	}
	before := refused.Load()
	topic.Renew()
	testenv.Poll(t, 10*time.Second, "a trial", func() bool { return refused.Load() > before })
}

// A slot that is taken for the trial and given back without a run does not use it up.
func TestATrialThatFoundNoJobIsOfferedAgain(t *testing.T) {
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{}))
	topic, deploy := laterClass(t, r)
	r.run()
	r.opened(topic)
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "Later")
	for range 3 {
		if n := topic.Acquire(t.Context(), 2); n != 1 {
			t.Fatalf("got %d slots for a trial, want 1", n)
		}
		if acquires(t, topic, 50*time.Millisecond) {
			t.Error("a second slot beside the trial's")
		}
		topic.Release(1)
	}
	if topic.Health() == nil {
		t.Error("the gate is open although nothing has run")
	}
	deploy()
	if topic.Acquire(t.Context(), 1) != 1 {
		t.Fatal("no slot")
	}
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
	topic.Release(1)
	r.opened(topic)
	if n := topic.Acquire(t.Context(), 2); n != 2 {
		t.Errorf("got %d slots once the gate is open, want 2", n)
	}
	topic.Release(2)
}

// A trial that runs for long has shown that there is a handler: the others do not wait for its end.
func TestALongTrialOpensTheGate(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 3})
	r := newRig(t, f)
	topic, _ := laterClass(t, r, timeout(time.Minute))
	r.run()
	r.opened(topic)
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "Later")
	f.Script("boot.php", "<?php class Later { public static function handle(array $job) { sleep(10); } }\n")
	if topic.Acquire(t.Context(), 1) != 1 {
		t.Fatal("no slot")
	}
	ended := make(chan compat.Outcome, 1)
	go func() { ended <- topic.Handle(context.WithoutCancel(t.Context()), job(t, "")) }()
	r.opened(topic)
	select {
	case o := <-ended:
		t.Errorf("ended before the gate opened: %+v", o)
	default:
	}
	if o := <-ended; o.Verdict != compat.Done {
		t.Errorf("got %+v", o)
	}
	topic.Release(1)
}
