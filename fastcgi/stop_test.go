package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// sleeper is a job for the handler sleep.
func sleeper(t testing.TB, uuid, dir string, seconds float64) compat.Job {
	t.Helper()
	return job(t, fmt.Sprintf(`{"uuid":%q,"dir":%q,"seconds":%g}`, uuid, dir, seconds))
}

func started(dir, uuid string) bool { return marks(dir, uuid, "start") > 0 }

// marks counts how often a sleeper has passed a place.
func marks(dir, uuid, place string) int {
	text, _ := os.ReadFile(filepath.Join(dir, uuid+"."+place))
	return strings.Count(string(text), "\n")
}

// C70: the script is stopped, so that no retry overlaps it. On unix sockets and TCP.
func TestTimeoutStopsTheScript(t *testing.T) {
	t.Parallel()
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp=%v", tcp), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{TCP: tcp})
			topic := newRig(t, f).run().handler("sleep", timeout(300*time.Millisecond))
			got := topic.Run(t.Context(), sleeper(t, "a1", f.Shared(), 10))
			wantVerdict(t, got, compat.TimedOut, "300ms, stopped")
			if !got.Started || got.PID == 0 || got.Elapsed > 9*time.Second {
				t.Errorf("started %v, pid %d, after %s", got.Started, got.PID, got.Elapsed)
			}
			testenv.Poll(t, 5*time.Second, "the master to bury the child", func() bool {
				_, err := os.Stat(fmt.Sprintf("/proc/%d", got.PID))
				return err != nil
			})
			wantVerdict(t, topic.Run(t.Context(), sleeper(t, "a2", f.Shared(), 0)), compat.Done, "")
		})
	}
}

// A script that has answered with fastcgi_finish_request() is still the run (FPM-FACTS 3).
func TestTimeoutStopsAScriptThatHasAnsweredEarly(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	topic := newRig(t, f).run().handler("finish_then_sleep", timeout(300*time.Millisecond))
	got := topic.Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.TimedOut, "stopped")
	if string(got.Output) != "success" {
		t.Errorf("output %q", got.Output)
	}
}

// FPM-FACTS 4: FPM runs a queued request whose client has gone. So nobody goes, and the clock has not begun.
func TestQueuedJobWaitsLongerThanItsTimeoutAndRunsOnce(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f).run()
	dir := f.Shared()
	long := r.handler("sleep")
	short := r.handler("sleep", timeout(time.Second))
	var wg sync.WaitGroup
	wg.Go(func() { wantVerdict(t, long.Run(t.Context(), sleeper(t, "long", dir, 4)), compat.Done, "") })
	testenv.Poll(t, 5*time.Second, "the long job to start", func() bool { return started(dir, "long") })
	got := short.Run(t.Context(), sleeper(t, "short", dir, 0))
	wg.Wait()
	wantVerdict(t, got, compat.Done, "")
	if got.Waited < time.Second || marks(dir, "short", "end") != 1 {
		t.Errorf("waited %s, ran %d times", got.Waited, marks(dir, "short", "end"))
	}
}

func TestStoppedSidecarTakesBackWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	var wg sync.WaitGroup
	wg.Go(func() { wantVerdict(t, topic.Run(t.Context(), sleeper(t, "first", dir, 2)), compat.Done, "") })
	testenv.Poll(t, 5*time.Second, "the first job to start", func() bool { return started(dir, "first") })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := topic.Run(ctx, sleeper(t, "second", dir, 0))
	wantVerdict(t, got, compat.Unavailable, "before the script started")
	if got.Outcome.Held {
		t.Error("held, although it had certainly not begun")
	}
	wg.Wait()
	wantVerdict(t, topic.Run(t.Context(), sleeper(t, "third", dir, 0)), compat.Done, "") // FPM has been past the second one
	if started(dir, "second") {
		t.Error("the job that was taken back ran")
	}
}

func TestStoppedSidecarStopsWhatRuns(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(ctx, sleeper(t, "a1", dir, 10)) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
	cancel()
	got := <-done
	wantVerdict(t, got, compat.Unavailable, "stopped the script")
	if got.Outcome.Held || marks(dir, "a1", "end") != 0 {
		t.Errorf("held %v, ended %d times", got.Outcome.Held, marks(dir, "a1", "end"))
	}
}

// TCP does not tell whether a queued request has begun: the claim is left to its lease.
func TestStoppedSidecarHoldsWhatMayBeginOnTCP(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, TCP: true})
	r := newRig(t, f).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	var wg sync.WaitGroup
	wg.Go(func() { wantVerdict(t, topic.Run(t.Context(), sleeper(t, "first", dir, 2)), compat.Done, "") })
	testenv.Poll(t, 5*time.Second, "the first job to start", func() bool { return started(dir, "first") })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := topic.Run(ctx, sleeper(t, "second", dir, 0))
	if !got.Outcome.Held {
		t.Errorf("got %+v, want held", got.Outcome)
	}
	wg.Wait()
	wantVerdict(t, topic.Run(t.Context(), sleeper(t, "third", dir, 0)), compat.Done, "")
	if started(dir, "second") {
		t.Error("it ran all the same: the reset came too late")
	}
}

// C137, C135: FPM itself ends the script. The next job has a connection of its own.
func TestTerminatedScriptsHaveCrashed(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{RequestTerminateTimeout: time.Second})
	topic := newRig(t, f).run().handler("sleep")
	got := topic.Run(t.Context(), sleeper(t, "a1", f.Shared(), 10))
	wantVerdict(t, got, compat.Crashed, "request_terminate_timeout")
	wantVerdict(t, topic.Run(t.Context(), sleeper(t, "a2", f.Shared(), 0)), compat.Done, "")
}

func TestReloadCutsOrWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		patience time.Duration
		want     compat.Verdict
	}{"cuts by default": {0, compat.Crashed}, "waits where it may": {10 * time.Second, compat.Done}} {
		t.Run(name, func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{ProcessControlTimeout: tt.patience})
			r := newRig(t, f).run()
			dir := f.Shared()
			topic := r.handler("sleep")
			done := make(chan fastcgi.Result, 1)
			go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", dir, 2)) }()
			testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
			f.Reload()
			wantVerdict(t, <-done, tt.want, "")
		})
	}
}

// Where the sidecar may not kill, FPM does: over the status socket, which answers when all children hang.
func TestFPMKillsWhereWeMayNot(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, StatusListen: true})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Status = f.StatusListen }).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", dir, 10)) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
	if err := fastcgi.Kill(t.Context(), r.pool, f.Children()[0]); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, <-done, compat.Crashed, "died")
}

// A sidecar of another user may not kill FPM's child, and asks FPM to.
func TestTimeoutWithoutTheRightToKill(t *testing.T) {
	t.Parallel()
	const env = "SIDECAR_TEST_NO_RIGHT"
	if dir := os.Getenv(env); dir != "" {
		own, err := os.MkdirTemp("", "sidecar-own-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(own) })
		if err := os.Chmod(own, 0o755); err != nil {
			t.Fatal(err)
		}
		f := &testenv.FPM{Dir: dir, Listen: "unix://" + filepath.Join(dir, "fpm.sock")}
		r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.BridgeDir = own }).run()
		topic := r.topic(filepath.Join(dir, "handlers", "sleep.php"), timeout(300*time.Millisecond))
		wantVerdict(t, topic.Run(t.Context(), sleeper(t, "a1", filepath.Join(dir, "shared"), 10)), compat.TimedOut, "stopped")
		since := time.Now()
		shell := r.topic(filepath.Join(dir, "shell.php"), timeout(300*time.Millisecond))
		wantVerdict(t, shell.Run(t.Context(), job(t, "")), compat.TimedOut, "stopped")
		wantSoon(t, r, since)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	f.Handler("sleep")
	f.Script("shell.php", `<?php shell_exec('sleep 25');`)
	f.Shared()
	runAs(t, "daemon", env+"="+f.Dir)
}

// An order to kill that is given up while it waits for a child is never carried out: by then that child may run another's request.
func TestKillOrderThatWasGivenUpIsDead(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", dir, 5)) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
	child := f.Children()[0]
	if err := fastcgi.Kill(t.Context(), r.pool, child); err == nil { // gives up after 2 s
		t.Fatal("killed, although no child was free")
	}
	wantVerdict(t, <-done, compat.Done, "")
	wantVerdict(t, topic.Run(t.Context(), sleeper(t, "a2", dir, 0)), compat.Done, "")
	if got := f.Children(); len(got) != 1 || got[0] != child {
		t.Errorf("children %v, want %d alone", got, child)
	}
}

// What cannot be stopped keeps its slot until it ends, and a success that comes late is one.
func TestLateSuccessIsDoneAndTheAbandonedMayStillRun(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	script := f.Script("slow.php", `<?php usleep(2500000); echo 'success';`)
	slow := func(abandon time.Duration) func(*fastcgi.TopicOptions) {
		return func(o *fastcgi.TopicOptions) { raw(o); o.Timeout, o.AbandonAfter = 100*time.Millisecond, abandon }
	}
	wantVerdict(t, r.topic(script, slow(time.Minute)).Run(t.Context(), job(t, "")), compat.Done, "")
	wantVerdict(t, r.topic(script, slow(300*time.Millisecond)).Run(t.Context(), job(t, "")), compat.TimedOut, "abandoned, may still run")
	if !strings.Contains(r.log.String(), "abandoned, may still run") {
		t.Errorf("log: %s", r.log)
	}
}
