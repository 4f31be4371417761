package fastcgi_test

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// reportSocket is where the rig's pool listens for reports.
func reportSocket(t *testing.T, f *testenv.FPM) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(f.Dir, "sidecar", "report-*.sock"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("report sockets: %v, %v", paths, err)
	}
	return paths[0]
}

// say writes text to the report socket and returns the answer.
func say(t *testing.T, socket, text string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return ""
	}
	answer, _ := bufio.NewReader(c).ReadString('\n')
	return answer
}

// Where fastcgi.logging is off, nothing but the socket can say hello.
func TestHelloComesOverTheSocketWhereStderrIsOff(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Ini: []string{"fastcgi.logging = 0"}})
	r := newRig(t, f).run()
	got := r.handler("ok").Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Done, "")
	if !got.Started || got.PID == 0 || got.PHP == "" {
		t.Errorf("started %v, pid %d, php %q", got.Started, got.PID, got.PHP)
	}
	dir := f.Shared()
	slow := r.handler("sleep", timeout(300*time.Millisecond))
	wantVerdict(t, slow.Run(t.Context(), sleeper(t, "a1", dir, 10)), compat.TimedOut, "stopped")
	wantVerdict(t, r.handler("finish_then_throw").Run(t.Context(), job(t, "")), compat.Failed, "behind the answer")

	if err := os.Rename(filepath.Join(f.Dir, "sidecar"), filepath.Join(f.Dir, "away")); err != nil { // a cleaner came by
		t.Fatal(err)
	}
	wantVerdict(t, r.handler("ok").Run(t.Context(), job(t, "")), compat.Done, "")
}

// Without stderr and without a socket nobody would know that a script runs: none is run.
func TestNoScriptRunsUnannounced(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{Ini: []string{"fastcgi.logging = 0"}})
	r := newRig(t, f)
	dir := f.Shared()
	topic := r.handler("sleep")
	got := topic.Run(t.Context(), sleeper(t, "a1", dir, 0)) // the pool was not prepared
	if got.Outcome.Verdict != compat.Unavailable || started(dir, "a1") {
		t.Errorf("got %+v, started %v", got.Outcome, started(dir, "a1"))
	}
}

func TestStrangersAreNotBelieved(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	dir := f.Shared()
	done := make(chan fastcgi.Result, 1)
	topic := r.handler("sleep")
	go func() { done <- topic.Run(t.Context(), sleeper(t, "a1", dir, 1)) }()
	testenv.Poll(t, 5*time.Second, "the job to start", func() bool { return started(dir, "a1") })
	socket := reportSocket(t, f)
	stat, err := os.Stat(socket)
	if err != nil || stat.Mode().Perm() != 0o666 {
		t.Errorf("socket mode %v, %v", stat.Mode(), err)
	}
	for _, text := range []string{
		"HELLO 0123456789abcdef 1 8.2\n",
		"REPORT 0123456789abcdef " + strings.Repeat("0", 64) + " eyJ2IjoiZG9uZSJ9\n",
		"REPORT\n", "\n", "GET / HTTP/1.1\r\n",
		strings.Repeat("x", 1<<20) + "\n",
	} {
		if answer := say(t, socket, text); answer == "OK\n" {
			t.Errorf("%.40q was believed", text)
		}
	}
	wantVerdict(t, <-done, compat.Done, "")
}

func TestStaleSocketsAreRemovedAndLiveOnesKept(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	dir := filepath.Join(f.Dir, "sidecar")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	stale, live := listen("report-default-1.sock"), listen("report-default-2.sock")
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	newRig(t, f).run()
	if _, err := os.Stat(filepath.Join(dir, "report-default-1.sock")); err == nil {
		t.Error("the stale socket is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "report-default-2.sock")); err != nil {
		t.Error("another sidecar's socket is gone")
	}
}
