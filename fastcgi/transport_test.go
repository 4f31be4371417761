package fastcgi_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
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

// sized makes a job whose text has exactly so many bytes.
func sized(t *testing.T, size int) compat.Job {
	t.Helper()
	const before, after = `{"uuid":"a1","payload":"`, `","retry":0}`
	return job(t, before+strings.Repeat("x", size-len(before)-len(after))+after)
}

// C124, C126: no length of the body is lost at a record's limit.
func TestBodiesOfEverySizeArriveWhole(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	topic := newRig(t, f).run().handler("describe_body")
	for _, size := range []int{64, 65535, 65536, 65537, 131070, 8 << 20} {
		j := sized(t, size)
		sum := md5.Sum([]byte(j.Raw()))
		got := topic.Run(t.Context(), j)
		want := fmt.Sprintf("%d %s %d", size, hex.EncodeToString(sum[:]), size)
		if got.Outcome.Verdict != compat.Done || string(got.Output) != want {
			t.Errorf("%d bytes: %s (%s), output %q, want %q", size, got.Outcome.Verdict, got.Outcome.Error, got.Output, want)
		}
	}
}

// C128: above post_max_size a body is whole, or the job is not done.
func TestNoJobIsDoneWithoutItsData(t *testing.T) {
	t.Parallel()
	for _, display := range []bool{false, true} {
		f := testenv.StartFPM(t, testenv.FPMOptions{Ini: []string{"post_max_size = 1M"}, DisplayErrors: display})
		got := newRig(t, f).run().handler("missing_data").Run(t.Context(), sized(t, 2<<20))
		if got.Outcome.Verdict == compat.Done && !strings.Contains(string(got.Output), "success 20") {
			t.Errorf("done, with output %.200q", got.Output)
		}
	}
}

func TestHandlersSeeTheirJob(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	for name, set := range map[string]func(*fastcgi.TopicOptions){"bridge": timeout(7 * time.Second), "raw": func(o *fastcgi.TopicOptions) {
		raw(o)
		o.Timeout = 7 * time.Second
	}} {
		t.Run(name, func(t *testing.T) {
			got := r.handler("describe_request", set).Run(t.Context(), job(t, ""))
			var seen map[string]any
			if err := json.Unmarshal(got.Output, &seen); err != nil {
				t.Fatalf("%v: %q", err, got.Output)
			}
			script := filepath.Join(f.Dir, "handlers", "describe_request.php")
			want := map[string]any{
				"SIDECAR_TOPIC": "mail", "SIDECAR_UUID": "a1", "SIDECAR_TRIES": "2", "SIDECAR_CRASHES": "0", "SIDECAR_TIMEOUT_MS": "7000",
				"SCRIPT_FILENAME": script, "DOCUMENT_ROOT": filepath.Dir(script), "REQUEST_METHOD": "POST", "cwd": filepath.Dir(script), "file": script,
			}
			for key, value := range want {
				if seen[key] != value {
					t.Errorf("%s = %v, want %v", key, seen[key], value)
				}
			}
			if ms, ok := seen["SIDECAR_DEADLINE_MS"].(string); !ok || len(ms) != 13 {
				t.Errorf("SIDECAR_DEADLINE_MS = %v", seen["SIDECAR_DEADLINE_MS"])
			}
			if cookies, ok := seen["cookies"].([]any); !ok || len(cookies) != 0 { // C157
				t.Errorf("cookies = %v", seen["cookies"])
			}
			if _, there := seen["SIDECAR_BRIDGE"]; there {
				t.Error("the handler can read SIDECAR_BRIDGE in $_SERVER")
			}
		})
	}
}

func TestStrangeUUIDsAreHashed(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	topic := newRig(t, f).run().handler("describe_request")
	got := topic.Run(t.Context(), job(t, `{"uuid":"a b\nStatus: 500"}`))
	var seen map[string]any
	if err := json.Unmarshal(got.Output, &seen); err != nil {
		t.Fatal(err)
	}
	if uuid, _ := seen["SIDECAR_UUID"].(string); len(uuid) != 64 || strings.ContainsAny(uuid, " \n") {
		t.Errorf("SIDECAR_UUID = %q", uuid)
	}
}

func TestOutputIsBoundedAndNeverStopsTheScript(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	limit := func(n int) func(*fastcgi.TopicOptions) { return func(o *fastcgi.TopicOptions) { o.OutputLimit = n } }

	got := r.handler("huge_output", limit(1000)).Run(t.Context(), job(t, `{"uuid":"a1","megabytes":300}`))
	wantVerdict(t, got, compat.Done, "")
	if len(got.Output) > 1100 || !strings.Contains(string(got.Output), "[cut: 1000 of 314572800 bytes") {
		t.Errorf("kept %d bytes: …%q", len(got.Output), got.Output[max(0, len(got.Output)-100):])
	}
	got = r.handler("ok", limit(0)).Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Done, "")

	got = r.handler("huge_stderr", limit(1000)).Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Failed, "after much ado")
	if len(got.Stderr) > 1100 {
		t.Errorf("kept %d bytes of stderr", len(got.Stderr))
	}
}

// C141: stderr is not headers, and it is told in the log only where that is wanted.
func TestStderrIsKeptApart(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	got := r.handler("noisy_stderr").Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Done, "")
	if string(got.Output) != "success" || !strings.HasPrefix(string(got.Stderr), "PHP message: a\nStatus: 500\nb; ") {
		t.Errorf("output %q, stderr %q", got.Output, got.Stderr)
	}
	if strings.Contains(r.log.String(), "Status: 500") {
		t.Error("stderr is in the log unasked")
	}
	r.handler("noisy_stderr", func(o *fastcgi.TopicOptions) { o.LogStderr = true }).Run(t.Context(), job(t, ""))
	if !strings.Contains(r.log.String(), "Status: 500") || !strings.Contains(r.log.String(), "uuid=a1") {
		t.Errorf("log: %s", r.log)
	}
}

func TestStderrIsTheTraceWhereTheHandlerGaveNone(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	dir := f.Shared()
	script := f.Script("last_words.php", `<?php error_log('last words'); flush(); touch('`+dir+`/x'); posix_kill(getmypid(), 9); sleep(5);`)
	got := newRig(t, f).run().topic(script).Run(t.Context(), job(t, ""))
	wantVerdict(t, got, compat.Crashed, "last words")
	if !strings.Contains(got.Outcome.Trace, "last words") || strings.Contains(got.Outcome.Trace, "sidecar-hello") {
		t.Errorf("trace %q", got.Outcome.Trace)
	}
}

// C130, C132: no connection is kept, so that neither max_requests nor web requests on the same children notice.
func TestChildrenAreNotPinned(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 2, MaxRequests: 1})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 8 }).run()
	topic := r.handler("ok", func(o *fastcgi.TopicOptions) { o.Workers = 8 })
	web := r.handler("describe_body")
	stop := make(chan struct{})
	var jobs, visitor sync.WaitGroup
	visitor.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				wantVerdict(t, web.Run(t.Context(), job(t, "")), compat.Done, "")
			}
		}
	})
	for range 8 {
		jobs.Go(func() {
			for range 5 {
				wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
			}
		})
	}
	jobs.Wait()
	close(stop)
	visitor.Wait()
	f.Stop()
	f.Start()
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Done, "")
}

// C134: a full backlog puts jobs off and costs them nothing.
func TestFullBacklogIsNoFailure(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, Backlog: 1})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 30 })
	topic := r.handler("sleep", func(o *fastcgi.TopicOptions) { o.Workers = 30 })
	r.run()
	dir := f.Shared()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[compat.Verdict]int{}
	for n := range 30 {
		wg.Go(func() {
			text := fmt.Sprintf(`{"uuid":"j%d","dir":%q,"seconds":0.05}`, n, dir)
			for {
				topic.Acquire(t.Context(), 1)
				got := topic.Handle(t.Context(), job(t, text))
				topic.Release(1)
				mu.Lock()
				seen[got.Verdict]++
				mu.Unlock()
				if got.Verdict != compat.Unavailable {
					return
				}
			}
		})
	}
	wg.Wait()
	if seen[compat.Done] != 30 || seen[compat.Unavailable] == 0 || len(seen) != 2 {
		t.Errorf("verdicts %v, want 30 done and some unavailable", seen)
	}
	starts, _ := filepath.Glob(dir + "/*.start")
	if len(starts) != 30 {
		t.Errorf("%d jobs started, want 30", len(starts))
	}
	for _, start := range starts {
		if text, _ := os.ReadFile(start); strings.Count(string(text), "\n") != 1 {
			t.Errorf("%s ran %d times", start, strings.Count(string(text), "\n"))
		}
	}
}

// C166: without descriptors a job waits.
func TestOutOfDescriptorsIsWaiting(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.handler("ok")
	if err := r.pool.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	tight := before
	tight.Cur = uint64(openFiles(t)) // below what the next dial needs
	var hogs []net.Conn
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &tight); err != nil {
		t.Skip(err)
	}
	for {
		c, err := net.Dial("unix", strings.TrimPrefix(f.Listen, "unix://"))
		if err != nil {
			break
		}
		hogs = append(hogs, c)
	}
	done := make(chan fastcgi.Result, 1)
	go func() { done <- topic.Run(t.Context(), job(t, "")) }()
	testenv.Poll(t, 5*time.Second, "the gate to shut", func() bool {
		err := r.pool.Health()
		return err != nil && strings.Contains(err.Error(), "too many open files")
	})
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	for _, c := range hogs {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	wantVerdict(t, <-done, compat.Done, "")
}
