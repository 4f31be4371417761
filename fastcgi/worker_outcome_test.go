package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// Every way a job can end, on one worker after another: what it does to the next job is nothing.
func TestEveryOutcomeOfAWorkersJob(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Ini: []string{"memory_limit = 32M"}})
	r := newRig(t, f)
	f.Script("verdicts.php", `<?php class RejectJob extends Exception {} class DeferJob extends Exception { public function delayMs() { return 90000; } }`)
	topic := r.worker("all", `
		require_once __DIR__ . '/verdicts.php';
		switch ($job['do']) {
			case 'throw': throw new RuntimeException('the address is gone');
			case 'error': undefined_function();
			case 'reject': throw new RejectJob('never again');
			case 'defer': throw new DeferJob('later');
			case 'false': return false;
			case 'status': http_response_code(503); return;
			case 'exit': exit('success');
			case 'fatal': error_log('about to fail'); eval('class Twice {} class Twice {}'); return;
			case 'memory': str_repeat('x', 64 << 20); return;
			case 'kill': error_log('goodbye'); flush(); posix_kill(getmypid(), 9); return;
			case 'sleep': usleep(10000000); return;
			case 'echo': echo 'stray'; return;
			case 'finish': fastcgi_finish_request(); usleep(400000); return;
			case 'finish and throw': fastcgi_finish_request(); usleep(400000); throw new RuntimeException('after all');
		}`, timeout(3*time.Second))
	r.run()
	r.opened(topic)
	for _, tt := range []struct {
		do   string
		want compat.Verdict
		says string
	}{
		{"nothing", compat.Done, ""},
		{"throw", compat.Failed, "the address is gone"},
		{"error", compat.Failed, "undefined_function"},
		{"reject", compat.Rejected, "never again"},
		{"defer", compat.Deferred, "later"},
		{"false", compat.Done, ""},
		{"status", compat.Failed, "503"},
		{"exit", compat.Failed, "exit"},
		{"fatal", compat.Failed, "Twice"},
		{"memory", compat.Failed, "memory"},
		{"kill", compat.Crashed, "child died"},
		{"sleep", compat.TimedOut, "3s, stopped"},
		{"echo", compat.Done, ""},
		{"finish", compat.Done, ""},
		{"finish and throw", compat.Failed, "after all"},
		{"nothing", compat.Done, ""},
	} {
		got := handled(t.Context(), topic, job(t, `{"uuid":"a1","do":"`+tt.do+`"}`))
		wantOutcome(t, got, tt.want, tt.says)
		if tt.do == "defer" && got.Delay != 90*time.Second {
			t.Errorf("deferred by %s", got.Delay)
		}
		if tt.do == "throw" && !strings.Contains(got.Trace, "all.php") {
			t.Errorf("trace %q", got.Trace)
		}
		if tt.do == "kill" && !strings.Contains(got.Trace, "goodbye") {
			t.Errorf("the trace of a killed worker: %q", got.Trace)
		}
		wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "") // a job without "do" warns, and is done
	}
}

func TestOptionsOfTheTopicHoldForWorkersToo(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	exits := r.worker("exits", `exit(0);`, func(o *fastcgi.TopicOptions) { o.ExitOK = true })
	falses := r.worker("falses", `return false;`, func(o *fastcgi.TopicOptions) { o.FailOnFalse = true })
	says := r.worker("says", `echo $job['say'];`, func(o *fastcgi.TopicOptions) { o.SuccessBody = regexp.MustCompile("^success") })
	logs := r.worker("logs", `trigger_error('look at ' . $job['uuid'], E_USER_WARNING);`, func(o *fastcgi.TopicOptions) { o.LogStderr = true })
	r.run()
	for _, topic := range []*fastcgi.Topic{exits, falses, says, logs} {
		r.opened(topic)
	}
	wantOutcome(t, handled(t.Context(), exits, job(t, "")), compat.Done, "")
	wantOutcome(t, handled(t.Context(), falses, job(t, "")), compat.Failed, "false")
	wantOutcome(t, handled(t.Context(), says, job(t, `{"say":"success"}`)), compat.Done, "")
	wantOutcome(t, handled(t.Context(), says, job(t, `{"say":"no success"}`)), compat.Failed, "success_body")
	for n := range 30 {
		wantOutcome(t, handled(t.Context(), logs, job(t, fmt.Sprintf(`{"uuid":"u%d"}`, n))), compat.Done, "")
	}
	for line := range strings.Lines(r.log.String()) {
		_, about, ok := strings.Cut(line, "uuid=")
		if uuid, said, _ := strings.Cut(about, " "); ok && strings.Contains(line, "look at") && (!strings.Contains(said, "look at "+uuid+" ") || strings.Count(said, "look at") != 1) {
			t.Errorf("stderr of another job: %s", line)
		}
	}
	if got := strings.Count(r.log.String(), "look at"); got != 30 {
		t.Errorf("%d of 30 jobs' stderr was logged", got)
	}
}

// Both ends keep reading: neither a hundred thousand warnings nor megabytes of output hold a worker up.
func TestNoiseDoesNotStallAWorker(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.worker("noisy", `
		for ($i = 0; $i < $job['warnings']; $i++) { trigger_error('warning ' . $i, E_USER_WARNING); }
		for ($i = 0; $i < $job['output']; $i++) { echo str_repeat('x', 1024); flush(); }
		if ($job['fail'] ?? false) { throw new Exception('after all that'); }`)
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, `{"warnings":100000,"output":0}`)), compat.Done, "")
	wantOutcome(t, handled(t.Context(), topic, job(t, `{"warnings":0,"output":20000}`)), compat.Done, "")
	got := topic.Run(t.Context(), job(t, `{"warnings":3000,"output":3000,"fail":true}`))
	wantVerdict(t, got, compat.Failed, "after all that")
	if len(got.Output) > 200<<10 || len(got.Stderr) > 200<<10 || !strings.Contains(string(got.Output), "[cut: ") {
		t.Errorf("kept %d bytes of output, %d of stderr", len(got.Output), len(got.Stderr))
	}
}

func TestAJobTooLargeForAFrameFailsAtOnce(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Ini: []string{"memory_limit = 512M"}})
	r := newRig(t, f)
	topic := r.worker("large", `if (strlen($job['x']) !== $job['n']) { throw new Exception('cut'); }`)
	r.run()
	r.opened(topic)
	text := func(n int) string { return fmt.Sprintf(`{"n":%d,"x":"%s"}`, n, strings.Repeat("x", n)) }
	wantOutcome(t, handled(t.Context(), topic, job(t, text(1<<20))), compat.Done, "")
	wantOutcome(t, handled(t.Context(), topic, job(t, text(20<<20))), compat.Done, "")
	wantOutcome(t, handled(t.Context(), topic, job(t, text(32<<20))), compat.Failed, `use mode = "request"`)
}

// What keeps workers from serving: whose fault it is, and that it is no loop of starts.
func TestBootstrapsThatFail(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	starts := filepath.Join(f.Shared(), "starts")
	boot := func(name, body string) func(*fastcgi.TopicOptions) {
		path := f.Script(name+"-boot.php", `<?php file_put_contents('`+starts+`', "`+name+`\n", FILE_APPEND); `+body)
		return func(o *fastcgi.TopicOptions) { o.Bootstrap = path }
	}
	r := newRig(t, f)
	throws := r.worker("throws", "", boot("throws", `throw new Exception('no database');`))
	dies := r.worker("dies", "", boot("dies", `posix_kill(getmypid(), 9);`))
	hangs := r.worker("hangs", "", boot("hangs", `sleep(10);`), timeout(300*time.Millisecond))
	exits := r.worker("exits", "", boot("exits", `exit;`))
	r.run()
	for _, topic := range []*fastcgi.Topic{throws, dies, hangs, exits} {
		r.opened(topic)
	}
	wantOutcome(t, handled(t.Context(), throws, job(t, "")), compat.Failed, "no database")
	wantOutcome(t, handled(t.Context(), exits, job(t, "")), compat.Failed, "exit")
	wantOutcome(t, handled(t.Context(), hangs, job(t, "")), compat.TimedOut, "stopped")
	wantOutcome(t, handled(t.Context(), dies, job(t, "")), compat.Unavailable, "before the start sign")
	if dies.Health() == nil {
		t.Error("the gate is open although workers die in their bootstrap")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got := handleAll(ctx, throws, 1000, func(int) compat.Job { return job(t, "") })
	if n := distinctLines(t, starts)["throws\n"]; n > 12 || got[compat.Failed] > n {
		t.Errorf("%d starts in a second; %v", n, got)
	}
	// As soon as it is mended, jobs run.
	if err := os.WriteFile(filepath.Join(f.Dir, "throws-boot.php"), []byte(`<?php `), 0o644); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 10*time.Second, "the mended bootstrap to serve", func() bool {
		return handled(t.Context(), throws, job(t, "")).Verdict == compat.Done
	})
}

func TestAMissingHandlerShutsTheTopicsGate(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	script := callable(f, "there", "")
	topic := r.topic(script, resident)
	noMethod := r.topic("", resident, func(o *fastcgi.TopicOptions) {
		o.Script, o.Call, o.Bootstrap = "", "Nobody::handle", f.Script("boot.php", `<?php `)
	})
	r.run()
	r.opened(topic)
	r.opened(noMethod)
	wantOutcome(t, handled(t.Context(), noMethod, job(t, "")), compat.Unavailable, "Nobody")
	if noMethod.Health() == nil {
		t.Error("the gate is open although there is no handler")
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Unavailable, "there.php")
	if topic.Health() == nil {
		t.Error("the gate is open although there is no script")
	}
	callable(f, "there", "")
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
}
