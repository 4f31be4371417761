package fastcgi

import (
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/compat"
)

func TestJudge(t *testing.T) {
	success := regexp.MustCompile("success")
	done, failed := &sign{Verdict: "done"}, &sign{Verdict: "failed", Error: "no stock", Trace: "#0 x"}
	tests := map[string]struct {
		facts facts
		want  compat.Verdict
		whose scope
		says  string
	}{
		"signed done":                          {facts{ending: answered, started: true, sign: done}, compat.Done, nobody, ""},
		"signed done with a status of success": {facts{ending: answered, started: true, sign: done, status: 202}, compat.Done, nobody, ""},
		"signed done but status 500":           {facts{ending: answered, started: true, sign: done, status: 500}, compat.Failed, nobody, "500"},
		"signed done, output right":            {facts{ending: answered, started: true, sign: done, success: success, output: []byte("a success")}, compat.Done, nobody, ""},
		"signed done, output right at its end": {facts{ending: answered, started: true, sign: done, success: success, tail: []byte("a success")}, compat.Done, nobody, ""},
		"signed done, output wrong":            {facts{ending: answered, started: true, sign: done, success: success, output: []byte("oh")}, compat.Failed, nobody, "success_body"},
		"signed failed":                        {facts{ending: answered, started: true, sign: failed}, compat.Failed, nobody, "no stock"},
		"signed failed, after the timeout":     {facts{ending: answered, started: true, late: true, sign: failed}, compat.Failed, nobody, "no stock"},
		"success after the timeout":            {facts{ending: answered, started: true, late: true, stopped: true, sign: done}, compat.Done, nobody, ""},
		"signed rejected":                      {facts{ending: answered, started: true, sign: &sign{Verdict: "rejected", Error: "gone"}}, compat.Rejected, nobody, "gone"},
		"signed unavailable":                   {facts{ending: answered, sign: &sign{Verdict: "unavailable", Error: "no class"}}, compat.Unavailable, topicGate, "no class"},
		"signed with an unknown word":          {facts{ending: answered, started: true, sign: &sign{Verdict: "fine"}}, compat.Crashed, nobody, "fine"},
		"ended without a sign":                 {facts{ending: answered, started: true, output: []byte("success")}, compat.Crashed, nobody, "without a verdict"},
		"ended without a sign, late":           {facts{ending: answered, started: true, late: true}, compat.TimedOut, nobody, "without a verdict"},
		"ended without a hello":                {facts{ending: answered, output: []byte("success")}, compat.Unavailable, topicGate, "did not run"},
		"script unknown":                       {facts{ending: answered, status: 404, stderr: []byte("Primary script unknown"), output: []byte("File not found.\n")}, compat.Unavailable, topicGate, "Primary script unknown"},
		"denied":                               {facts{ending: answered, status: 403, output: []byte("Access denied.\n")}, compat.Unavailable, topicGate, "403"},
		"raw: script unknown":                  {facts{ending: answered, raw: true, status: 404, output: []byte("File not found.\n")}, compat.Unavailable, topicGate, "File not found."},
		"raw: the handler's own 404":           {facts{ending: answered, raw: true, status: 404, output: []byte("no such order"), success: success}, compat.Failed, nobody, "404"},
		"raw: right output":                    {facts{ending: answered, raw: true, output: []byte("success"), success: success}, compat.Done, nobody, ""},
		"raw: an empty answer":                 {facts{ending: answered, raw: true, success: success}, compat.Failed, nobody, "success_body"},
		"raw: nothing asked for":               {facts{ending: answered, raw: true}, compat.Failed, nobody, "success_body"},
		"cut after the hello":                  {facts{ending: cutOff, started: true, cause: io.EOF}, compat.Crashed, nobody, "died"},
		"cut behind the sign, before the end":  {facts{ending: cutOff, started: true, cause: io.EOF, sign: nil}, compat.Crashed, nobody, "died"},
		"cut before the hello":                 {facts{ending: cutOff, written: true, cause: syscall.ECONNRESET}, compat.Unavailable, topicGate, "before the start sign"},
		"raw: cut after the request":           {facts{ending: cutOff, raw: true, written: true, cause: io.EOF, output: []byte("success"), success: success}, compat.Crashed, nobody, "died"},
		"raw: cut within the request":          {facts{ending: cutOff, raw: true, cause: io.EOF}, compat.Unavailable, topicGate, "before the script started"},
		"stopped for its timeout":              {facts{ending: cutOff, started: true, late: true, stopped: true, timeout: time.Minute, cause: io.EOF}, compat.TimedOut, nobody, "1m0s, stopped"},
		"died after its timeout":               {facts{ending: cutOff, started: true, late: true, timeout: time.Minute, cause: io.EOF}, compat.TimedOut, nobody, "died"},
		"stopped with the sidecar":             {facts{ending: cutOff, started: true, going: true, stopped: true, cause: io.EOF}, compat.Unavailable, nobody, "stopped"},
		"died while the sidecar stops":         {facts{ending: cutOff, started: true, going: true, cause: io.EOF}, compat.Crashed, nobody, "died"},
		"not FastCGI":                          {facts{ending: garbled, cause: errNotFastCGI}, compat.Unavailable, poolGate, "not FastCGI"},
		"not FastCGI any more":                 {facts{ending: garbled, started: true, cause: errNotFastCGI}, compat.Crashed, nobody, "not FastCGI"},
		"no connection":                        {facts{ending: unreached, cause: syscall.ECONNREFUSED}, compat.Unavailable, poolGate, "refused"},
		"no bridge":                            {facts{ending: unready, cause: errors.New("bridge_dir")}, compat.Unavailable, topicGate, "bridge_dir"},
		"taken back":                           {facts{ending: withdrawn}, compat.Unavailable, nobody, "before"},
		"abandoned":                            {facts{ending: abandoned, started: true, late: true}, compat.TimedOut, nobody, "may still run"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, whose := judge(tt.facts)
			if got.Verdict != tt.want || whose != tt.whose || !strings.Contains(got.Error, tt.says) || got.Held {
				t.Errorf("got %+v for %d, want %s for %d, saying %q", got, whose, tt.want, tt.whose, tt.says)
			}
			if got.Verdict == compat.Done && (got.Error != "" || got.Trace != "") {
				t.Errorf("done with an error: %+v", got)
			}
		})
	}
	if got, whose := judge(facts{ending: held, started: true, going: true}); !got.Held || whose != nobody {
		t.Errorf("got %+v for %d, want held", got, whose)
	}
}

func TestDelaysAreSane(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		-5: 0, 0: 0, 1500: 1500 * time.Millisecond, math.Inf(1): 365 * 24 * time.Hour, 1e300: 365 * 24 * time.Hour,
	} {
		if got := delayOf(ms); got != want {
			t.Errorf("delayOf(%g) = %s, want %s", ms, got, want)
		}
	}
	if got := delayOf(math.NaN()); got != 0 {
		t.Errorf("delayOf(NaN) = %s", got)
	}
}
