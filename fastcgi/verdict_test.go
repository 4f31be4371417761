package fastcgi_test

import (
	"fmt"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// What looks like success to FPM's client and is not, and what is (FPM-FACTS 1; C139, C145, C147).
var endings = map[string]struct {
	verdict compat.Verdict
	says    string
}{
	"ok":                    {compat.Done, ""},
	"exit_one":              {compat.Failed, "exit"},
	"exit_zero":             {compat.Failed, "exit"},
	"exit_success":          {compat.Failed, "exit"},
	"die_message":           {compat.Failed, "exit"},
	"fatal_after_flush":     {compat.Failed, "undefined_function"},
	"fatal_error":           {compat.Failed, "out of paper"},
	"uncaught_after_echo":   {compat.Failed, "database gone"},
	"uncaught_exception":    {compat.Failed, "database gone"},
	"parse_error":           {compat.Failed, "syntax error"},
	"destructor_throws":     {compat.Failed, "commit failed"},
	"shutdown_throws":       {compat.Failed, "commit failed"},
	"shutdown_exits":        {compat.Failed, "exit"},
	"finish_then_throw":     {compat.Failed, "failed behind the answer"},
	"finish_then_end":       {compat.Done, ""},
	"finish_then_die":       {compat.Crashed, "died"},
	"kill_self":             {compat.Crashed, "died"},
	"segfault_self":         {compat.Crashed, "died"},
	"forged_sign":           {compat.Crashed, "died"},
	"forged_sign_finished":  {compat.Crashed, "died"},
	"memory_limit":          {compat.Failed, "Allowed memory size"},
	"status_500":            {compat.Failed, "500"},
	"status_404":            {compat.Failed, "404"},
	"huge_headers":          {compat.Done, ""},
	"noisy_stderr":          {compat.Done, ""},
	"warning_before_output": {compat.Done, ""},
	"reject":                {compat.Rejected, "order was deleted"},
	"defer":                 {compat.Deferred, "shop is closed"},
	"return_false":          {compat.Done, ""},
}

func TestEveryEndingIsWhatItIs(t *testing.T) {
	t.Parallel()
	for _, buffering := range []int{0, 4096} {
		for _, display := range []bool{false, true} {
			t.Run(fmt.Sprintf("output_buffering=%d display_errors=%v", buffering, display), func(t *testing.T) {
				f := testenv.StartFPM(t, testenv.FPMOptions{OutputBuffering: buffering, DisplayErrors: display})
				r := newRig(t, f)
				topics := map[string]*fastcgi.Topic{}
				for name := range endings {
					topics[name] = r.handler(name)
				}
				r.run()
				for name, want := range endings {
					t.Run(name, func(t *testing.T) {
						wantVerdict(t, topics[name].Run(t.Context(), job(t, "")), want.verdict, want.says)
					})
				}
			})
		}
	}
}

// Without the bridge only the output can tell, so that what prints "success" first and fails later counts as done
// where FPM's answer is the same; what fails before, or is cut, never does (C148, C149).
func TestRawModeNeedsTheOutput(t *testing.T) {
	t.Parallel()
	want := map[string]compat.Verdict{
		"ok": compat.Done, "exit_success": compat.Done, "huge_headers": compat.Done, "noisy_stderr": compat.Done,
		"exit_one": compat.Failed, "exit_zero": compat.Failed, "die_message": compat.Failed, "fatal_error": compat.Failed,
		"uncaught_exception": compat.Failed, "parse_error": compat.Failed, "status_500": compat.Failed, "status_404": compat.Failed,
		"kill_self": compat.Crashed, "segfault_self": compat.Crashed, "forged_sign": compat.Crashed,
		"warning_before_output": compat.Done,
	}
	for _, display := range []bool{false, true} {
		t.Run(fmt.Sprintf("display_errors=%v", display), func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{DisplayErrors: display})
			r := newRig(t, f)
			for name, verdict := range want {
				got := r.handler(name, raw).Run(t.Context(), job(t, ""))
				if got.Outcome.Verdict != verdict {
					t.Errorf("%s: got %s (%s), want %s", name, got.Outcome.Verdict, got.Outcome.Error, verdict)
				}
			}
		})
	}
}

func TestOptionsChangeWhatCountsAsSuccess(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f).run()
	exitOK := func(o *fastcgi.TopicOptions) { o.ExitOK = true }
	success := func(o *fastcgi.TopicOptions) { raw(o); o.Bridge = true }

	wantVerdict(t, r.handler("exit_zero", exitOK).Run(t.Context(), job(t, "")), compat.Done, "")
	wantVerdict(t, r.handler("exit_success", exitOK, success).Run(t.Context(), job(t, "")), compat.Done, "")
	wantVerdict(t, r.handler("die_message", exitOK, success).Run(t.Context(), job(t, "")), compat.Failed, "success_body")
	wantVerdict(t, r.handler("return_false", func(o *fastcgi.TopicOptions) { o.FailOnFalse = true }).Run(t.Context(), job(t, "")), compat.Failed, "false")
	wantVerdict(t, r.handler("memory_limit", func(o *fastcgi.TopicOptions) { o.MemoryLimit = "64M" }).Run(t.Context(), job(t, "")), compat.Failed, "memory")

	got := r.handler("defer").Run(t.Context(), job(t, ""))
	if got.Outcome.Delay != 90*time.Second {
		t.Errorf("deferred by %s, want 90 s", got.Outcome.Delay)
	}
}
