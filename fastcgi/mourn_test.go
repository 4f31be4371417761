package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// heir starts something that inherits FPM's connection and lives on, and then what follows.
func heir(f *testenv.FPM, then string) string {
	return f.Script("heir.php", `<?php exec('sleep 25 >/dev/null 2>&1 &'); touch('`+f.Shared()+`/begun'); `+then)
}

func begun(f *testenv.FPM) bool {
	_, err := os.Stat(filepath.Join(f.Shared(), "begun"))
	return err == nil
}

// wantSoon checks that a run did not wait for what its script had started.
func wantSoon(t *testing.T, r *rig, since time.Time) {
	t.Helper()
	if took := time.Since(since); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if lines := strings.Count(r.log.String(), "holds its connection"); lines != 1 {
		t.Errorf("%d log lines:\n%s", lines, r.log)
	}
}

func TestACrashIsSeenAlthoughWhatTheScriptStartedLives(t *testing.T) {
	t.Parallel()
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp=%v", tcp), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{TCP: tcp})
			r := newRig(t, f).run()
			since := time.Now()
			// On TCP the child is found a second after its hello.
			got := r.topic(heir(f, `echo 'half'; flush(); usleep(1500000); posix_kill(getmypid(), 9); sleep(5);`)).Run(t.Context(), job(t, ""))
			wantVerdict(t, got, compat.Crashed, "what it had started holds the connection")
			wantSoon(t, r, since)
			if string(got.Output) != "half" {
				t.Errorf("output %q, want what had come", got.Output)
			}
			wantVerdict(t, r.handler("ok").Run(t.Context(), job(t, "")), compat.Done, "")
		})
	}
}

func TestATimeoutDoesNotWaitForWhatTheScriptStarted(t *testing.T) {
	t.Parallel()
	for _, tcp := range []bool{false, true} {
		t.Run(fmt.Sprintf("tcp=%v", tcp), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{TCP: tcp})
			r := newRig(t, f).run()
			since := time.Now()
			shell := f.Script("shell.php", `<?php shell_exec('sleep 25');`)
			wantVerdict(t, r.topic(shell, timeout(300*time.Millisecond)).Run(t.Context(), job(t, "")), compat.TimedOut, "stopped")
			wantSoon(t, r, since)
		})
	}
}

// The child has crashed before anybody could look, and the deadline is what tells.
func TestATimeoutOfAChildThatIsGone(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{TCP: true})
	r := newRig(t, f).run()
	since := time.Now()
	topic := r.topic(heir(f, `posix_kill(getmypid(), 9); sleep(5);`), timeout(2*time.Second))
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.TimedOut, "stopped")
	wantSoon(t, r, since)
}

func TestAStoppedSidecarDoesNotWaitForWhatTheScriptStarted(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	topic := r.topic(heir(f, `sleep(20);`))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(ctx, job(t, "")) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return begun(f) })
	since := time.Now()
	cancel()
	got := <-done
	wantVerdict(t, got, compat.Unavailable, "stopped the script")
	if got.Outcome.Held {
		t.Error("held, although the script was stopped")
	}
	wantSoon(t, r, since)
}
