package fastcgi_test

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// Nothing runs, and nothing is claimed to find out.
func TestAnIdlePoolNoticesThatFPMIsGone(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	f.Stop()
	wantHealth(t, "the pool", r.pool.Health, "php-fpm is not running")
	if acquires(t, topic, 100*time.Millisecond) {
		t.Error("a slot although FPM is gone")
	}
	f.Start()
	r.opened(topic)
	if lines := strings.Count(r.log.String(), "php-fpm is unavailable"); lines > 3 {
		t.Errorf("%d log lines for one outage:\n%s", lines, r.log)
	}
}

func TestACheckLooksWhetherFPMIsThere(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	if err := r.pool.Check(t.Context()); err != nil {
		t.Errorf("FPM is there: %v", err)
	}
	f.Stop()
	testenv.Poll(t, 2*time.Second, "the check to say so", func() bool {
		err := r.pool.Check(t.Context())
		return err != nil && strings.Contains(err.Error(), "php-fpm is not running")
	})
}

// signalFPM sends s to all of FPM.
func signalFPM(t *testing.T, f *testenv.FPM, s syscall.Signal) {
	t.Helper()
	for _, pid := range append(f.Children(), f.PID()) {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
}

// A frozen FPM takes connections, as the kernel does that for it.
func TestAFrozenFPMIsNamed(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	fastcgi.SetPatience(r.pool, time.Second)
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	signalFPM(t, f, syscall.SIGSTOP)
	t.Cleanup(func() { f.Resume() }) // of a test that fails before
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(t.Context(), job(t, "")) }()
	wantHealth(t, "the pool", r.pool.Health, "no child took the job within")
	testenv.Poll(t, 5*time.Second, "the log to say it", func() bool { return strings.Contains(r.log.String(), "no child takes one") })
	signalFPM(t, f, syscall.SIGCONT)
	wantVerdict(t, <-done, compat.Done, "")
	wantHealth(t, "the pool", r.pool.Health, "")
	testenv.Poll(t, 5*time.Second, "the log to say that it is over", func() bool { return strings.Contains(r.log.String(), "in vain any more") })
	if lines := strings.Count(r.log.String(), "no child takes one"); lines != 1 {
		t.Errorf("%d log lines:\n%s", lines, r.log)
	}
}

// A pool whose children are busy for long, while jobs begin now and then, is not silent.
func TestABusyPoolIsNotSilent(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f)
	fastcgi.SetPatience(r.pool, 4*time.Second)
	topic := r.handler("sleep", func(o *fastcgi.TopicOptions) { o.Workers = 6 })
	r.run()
	r.opened(topic)
	done := make(chan fastcgi.Result, 6)
	for range 6 {
		go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", f.Shared(), 1)) }()
	}
	for range 6 {
		if err := r.pool.Health(); err != nil {
			t.Errorf("unwell: %v", err)
		}
		wantVerdict(t, <-done, compat.Done, "")
	}
}

// What takes connections and says nothing is not waited for by somebody who looks on, and the answer names it.
func TestTryGivesUpASilentPeer(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"tcp", "unix"} {
		t.Run(listen, func(t *testing.T) {
			address := "127.0.0.1:0"
			if listen == "unix" {
				address = t.TempDir() + "/s.sock"
			}
			l, err := net.Listen(listen, address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close() // the backlog takes all of them
			f := &testenv.FPM{Dir: t.TempDir(), Listen: listen + "://" + l.Addr().String()}
			r := newRig(t, f)
			fastcgi.SetPatience(r.pool, time.Second)
			got := r.topic("/srv/ok.php").Try(t.Context(), job(t, ""))
			wantVerdict(t, got, compat.Unavailable, "no child took the job within 1s")
			if got.Outcome.Held != (listen == "tcp") { // TCP does not tell whether it may still begin
				t.Errorf("held %v", got.Outcome.Held)
			}
		})
	}
}
