package fastcgi_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// acquires reports whether a slot can be had now.
func acquires(t *testing.T, topic *fastcgi.Topic, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	n := topic.Acquire(ctx, 1)
	topic.Release(n)
	return n > 0
}

func wantHealth(t *testing.T, who string, health func() error, says string) {
	t.Helper()
	testenv.Poll(t, 10*time.Second, who+" to say "+says, func() bool {
		err := health()
		if says == "" {
			return err == nil
		}
		return err != nil && strings.Contains(err.Error(), says)
	})
}

// C136: socket gone, refusing, denied, back.
func TestNothingIsClaimedWhileFPMIsAway(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	if !acquires(t, topic, 30*time.Second) {
		t.Fatal("no slot on a healthy pool")
	}
	f.Stop()
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "php-fpm is not running")
	wantHealth(t, "the pool", r.pool.Health, "php-fpm is not running")
	if acquires(t, topic, 100*time.Millisecond) {
		t.Error("a slot although FPM is down")
	}
	if err := r.pool.Ping(t.Context()); err == nil {
		t.Error("ping succeeds although FPM is down")
	}
	path := strings.TrimPrefix(f.Listen, "unix://")
	_ = os.Remove(path) // FPM may have done it
	wantHealth(t, "the pool", r.pool.Health, "no such file")
	f.Start()
	r.opened(topic)
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
	if lines := strings.Count(r.log.String(), "php-fpm is unavailable"); lines > 3 {
		t.Errorf("%d log lines for one outage:\n%s", lines, r.log)
	}
}

// A socket that does not admit us is named clearly. Root is admitted everywhere, so that another user has to try.
func TestDeniedSocketIsNamed(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("SIDECAR_TEST_DENIED"); dir != "" {
		f := &testenv.FPM{Dir: dir, Listen: "unix://" + filepath.Join(dir, "fpm.sock")}
		err := newRig(t, f).pool.Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), "listen.mode of the FPM pool must admit uid") {
			t.Errorf("ping: %v", err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	if err := os.Chmod(strings.TrimPrefix(f.Listen, "unix://"), 0o600); err != nil {
		t.Fatal(err)
	}
	runAs(t, "nobody", "SIDECAR_TEST_DENIED="+f.Dir)
}

// runAs runs the calling test once more as another user.
func runAs(t *testing.T, user, env string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecar-as-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "test")
	// By another process: what this one starts meanwhile would have the file open for writing, and nobody could run it.
	if out, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "setpriv", "--reuid="+user, "--clear-groups", binary, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), env), dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as %s: %v\n%s", user, err, out)
	}
}

func TestOtherServersAreNotTakenForFPM(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	f := &testenv.FPM{Dir: t.TempDir(), Listen: "tcp://" + l.Addr().String()}
	r := newRig(t, f)
	topic := r.topic("/srv/ok.php")
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "not FastCGI")
	if err := r.pool.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "not FastCGI") {
		t.Errorf("ping: %v", err)
	}
}

// All children busy is not down.
func TestBusyPoolIsUp(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f).run()
	dir := f.Shared()
	topic := r.handler("sleep")
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", dir, 2.5)) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
	if err := r.pool.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	wantVerdict(t, <-done, compat.Done, "")
}

// C83, C153: a handler that is not there, or not readable, shuts its own topic's gate and costs no job anything.
func TestMissingHandlerShutsItsTopicOnly(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*fastcgi.TopicOptions){"bridge": func(*fastcgi.TopicOptions) {}, "raw": raw} {
		t.Run(name, func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{})
			r := newRig(t, f)
			script := f.Handler("ok")
			topic, other := r.topic(script, set), r.handler("return_false")
			r.run()
			r.opened(topic)
			if err := os.Rename(script, script+".away"); err != nil {
				t.Fatal(err)
			}
			got := topic.Run(t.Context(), job(t, ""))
			if got.Outcome.Verdict != compat.Unavailable {
				t.Fatalf("got %+v", got.Outcome)
			}
			if acquires(t, topic, 200*time.Millisecond) {
				t.Error("a slot although the handler is missing")
			}
			if !acquires(t, other, 30*time.Second) || r.pool.Health() != nil {
				t.Error("the other topic suffers, too")
			}
			if err := os.Rename(script+".away", script); err != nil {
				t.Fatal(err)
			}
			r.opened(topic)
			wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
			if lines := strings.Count(r.log.String(), "cannot start"); lines > 3 {
				t.Errorf("%d log lines for one gap:\n%s", lines, r.log)
			}
		})
	}
}

func TestGateIsShutUntilTheFilesAreSeen(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	typo := r.topic(filepath.Join(f.Dir, "handlers", "okay.php"))
	secret := r.topic(f.Script("secret.php", "<?php"))
	boot := r.topic(f.Handler("ok"), func(o *fastcgi.TopicOptions) { o.Bootstrap = filepath.Join(f.Dir, "no_autoload.php") })
	if os.Geteuid() == 0 {
		if err := os.Chmod(filepath.Join(f.Dir, "secret.php"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.run()
	wantHealth(t, "the topic", typo.Health, "okay.php")
	wantHealth(t, "the topic", boot.Health, "bootstrap")
	if os.Geteuid() == 0 {
		wantHealth(t, "the topic", secret.Health, "secret.php")
	}
	if acquires(t, typo, 50*time.Millisecond) {
		t.Error("a slot although the handler is missing")
	}
}

// C84: a syntax error is the handler's failure, with the same reason for every job.
func TestSyntaxErrorIsAFailure(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	topic := newRig(t, f).run().handler("parse_error")
	first := topic.Handle(t.Context(), job(t, ""))
	second := topic.Handle(t.Context(), job(t, `{"uuid":"b2"}`))
	if first.Verdict != compat.Failed || first.Error != second.Error || !strings.Contains(first.Error, "parse_error.php:") {
		t.Errorf("got %q, then %q", first.Error, second.Error)
	}
}

// C156: a bridge that FPM may not open is no failure of a job, and the reason names it.
func TestBridgeOutsideOpenBasedirIsNamed(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	script := f.Handler("ok")
	closed := testenv.StartFPM(t, testenv.FPMOptions{OpenBasedir: filepath.Dir(script)})
	r := newRig(t, closed)
	topic := r.topic(script)
	r.run()
	wantHealth(t, "the topic", topic.Health, "bridge")
	wantHealth(t, "the topic", topic.Health, "No input file specified.")
	got := topic.Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Unavailable, "404")
	if r.pool.Health() != nil {
		t.Errorf("the pool suffers: %v", r.pool.Health())
	}
}

func TestCallerIsToldWhatStops(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n := topic.Acquire(ctx, 3); n != 0 {
		t.Errorf("%s slots before anybody has seen FPM", strconv.Itoa(n))
	}
	if err := topic.ShutReason(); err == nil {
		t.Error("open before anybody has seen the handler")
	}
}

func TestAnAbsentPoolIsWhyAndNotItsTopics(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Listen = "unix://" + filepath.Join(t.TempDir(), "none") })
	topic := r.handler("ok")
	r.run()
	wantHealth(t, "the pool", r.pool.Health, "php-fpm is not running")
	wantHealth(t, "what shuts the topic", topic.ShutReason, "php-fpm is not running")
	if err := topic.Health(); err != nil {
		t.Errorf("the topic that nobody could look at says %v", err)
	}
}
