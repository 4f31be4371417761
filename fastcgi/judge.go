package fastcgi

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sidecar/compat"
)

// ending says how a run looked when we stopped looking.
type ending int

const (
	// answered: END_REQUEST came. By itself it means nothing (FPM-FACTS 1).
	answered ending = iota + 1
	// cutOff: the connection was lost.
	cutOff
	// garbled: the other side does not speak FastCGI.
	garbled
	// unreached: no connection.
	unreached
	// unready: the request could not be made: no bridge, parameters too long.
	unready
	// withdrawn: taken back before its start, and certain never to start.
	withdrawn
	// abandoned: still running after abandon_after.
	abandoned
	// held: the sidecar stops, and the script may go on.
	held
)

// facts are what is known of a run when it is over.
type facts struct {
	ending  ending
	cause   error         // why it was cut, garbled, unreached
	raw     bool          // no bridge: no hello, no sign
	started bool          // the hello came
	written bool          // the whole request was sent
	late    bool          // the timeout passed
	stopped bool          // we killed the script
	going   bool          // the sidecar stops
	elapsed time.Duration // since the hello; without one, since the request
	timeout time.Duration

	patience time.Duration // with a job that no child takes

	sign    *sign
	status  int
	output  []byte // its kept beginning
	tail    []byte // its kept end, where that is another piece
	stderr  []byte // the end of it
	success *regexp.Regexp
}

// scope says whose gate a run shuts.
type scope int

const (
	nobody scope = iota + 1
	topicGate
	poolGate
)

// judge says what a run came to, and whose gate it shuts. It knows nothing but the facts.
func judge(f facts) (compat.Outcome, scope) {
	switch f.ending {
	case answered:
		return f.judgeAnswer()
	case cutOff:
		return f.judgeCut()
	case garbled:
		if f.started {
			return f.crashed(f.cause.Error()), nobody
		}
		return unavailable(f.cause.Error()), poolGate
	case unreached:
		return unavailable(f.cause.Error()), poolGate
	case unready:
		return unavailable(f.cause.Error()), topicGate
	case withdrawn:
		return unavailable(f.unbegun()), nobody
	case abandoned:
		return f.timedOut("could not be stopped: abandoned, may still run"), nobody
	case held:
		return compat.Outcome{Verdict: compat.Unavailable, Error: f.left(), Held: true}, nobody
	}
	panic(fmt.Sprintf("fastcgi: unknown ending %d", f.ending))
}

func (f facts) judgeAnswer() (compat.Outcome, scope) {
	switch {
	case f.sign != nil:
		return f.judgeSign()
	case f.noScript():
		return unavailable(f.refusal()), topicGate
	case f.raw:
		return f.judgeOutput(), nobody
	case f.started && f.late:
		return f.timedOut("ended without a verdict"), nobody
	case f.started:
		return f.crashed("the script ended without a verdict"), nobody
	}
	return unavailable(f.refusal()), topicGate // the bridge was not run, or not by us
}

// judgeSign follows the bridge's word, but for success: that needs the rest to look like it, too.
func (f facts) judgeSign() (compat.Outcome, scope) {
	s := f.sign
	o := compat.Outcome{Error: s.Error, Trace: s.Trace}
	switch s.Verdict {
	case "done":
		o = f.judgeOutput()
	case "failed":
		o.Verdict = compat.Failed
	case "rejected":
		o.Verdict = compat.Rejected
	case "deferred":
		o.Verdict = compat.Deferred
		o.Delay = delayOf(s.DelayMS)
	case "unavailable":
		o.Verdict = compat.Unavailable
		return o, topicGate
	default:
		return f.crashed(fmt.Sprintf("the bridge's verdict is unknown: %q", s.Verdict)), nobody
	}
	return o, nobody
}

// judgeOutput judges a script that ended well as far as status and output can tell.
func (f facts) judgeOutput() compat.Outcome {
	switch {
	case f.status >= 400:
		return compat.Outcome{Verdict: compat.Failed, Error: fmt.Sprintf("the handler answered status %d", f.status)}
	case f.success != nil && !f.success.Match(f.output) && !f.success.Match(f.tail):
		return compat.Outcome{Verdict: compat.Failed, Error: fmt.Sprintf("the output does not match success_body = %q", f.success)}
	case f.success == nil && f.raw: // Validate refuses it
		return compat.Outcome{Verdict: compat.Failed, Error: "bridge = false without success_body: nothing can tell success"}
	}
	return compat.Outcome{Verdict: compat.Done}
}

func (f facts) judgeCut() (compat.Outcome, scope) {
	switch {
	case f.started && f.going && f.stopped:
		return unavailable("the sidecar stopped and stopped the script"), nobody
	case f.started && f.late && f.stopped:
		return f.timedOut("stopped"), nobody
	case f.late:
		return f.timedOut(fmt.Sprintf("then php-fpm's child died (%v)", f.cause)), nobody
	case f.started, f.raw && f.written:
		return f.crashed(fmt.Sprintf("php-fpm's child died %.1fs into the run (%v): "+
			"a crash, a kill, request_terminate_timeout, or a reload that cut it", f.elapsed.Seconds(), f.cause)), nobody
	case f.raw:
		return unavailable(fmt.Sprintf("connection lost before the script started: %v", f.cause)), topicGate
	}
	return unavailable(fmt.Sprintf("connection lost before the start sign: %v", f.cause)), topicGate
}

// unbegun says why a job was taken back.
func (f facts) unbegun() string {
	if f.inVain() {
		return noChild(f.elapsed).Error()
	}
	return "the sidecar stopped before the script started"
}

// left says why a job was left to itself.
func (f facts) left() string {
	if f.inVain() {
		return noChild(f.elapsed).Error() + "; it may still begin"
	}
	return "the sidecar stopped, the script may still run"
}

// inVain reports that no child took the job although there was time enough.
func (f facts) inVain() bool { return !f.raw && !f.started && f.elapsed > f.patience }

// noScript reports FPM's own words for a script that it cannot open. A handler's 404 is not one of them.
func (f facts) noScript() bool {
	if f.started || (f.status != 403 && f.status != 404) {
		return false
	}
	body := strings.TrimSpace(string(f.output))
	return body == "File not found." || body == "No input file specified." || body == "Access denied." || !f.raw
}

// refusal says how FPM answered instead of running the script.
func (f facts) refusal() string {
	stderr := f.stderr
	if at := bytes.LastIndex(stderr, []byte("PHP Fatal error")); at >= 0 { // what it says first is why; a trace follows
		stderr = stderr[at:min(len(stderr), at+300)]
	}
	said := strings.TrimSpace(string(lastChars(stderr, 300)))
	if body := strings.TrimSpace(string(lastChars(f.output, 200))); body != "" {
		said = strings.TrimPrefix(said+"; "+body, "; ")
	}
	status := "without a status"
	if f.status != 0 {
		status = fmt.Sprintf("%d", f.status)
	}
	return strings.TrimSuffix(fmt.Sprintf("php-fpm answered %s and did not run the script: %s", status, said), ": ")
}

func (f facts) crashed(why string) compat.Outcome {
	if said := bytes.TrimSpace(lastChars(f.stderr, 200)); len(said) > 0 {
		why += "; stderr: " + string(said)
	}
	return compat.Outcome{Verdict: compat.Crashed, Error: why}
}

func (f facts) timedOut(what string) compat.Outcome {
	return compat.Outcome{Verdict: compat.TimedOut, Error: fmt.Sprintf("ran longer than timeout = %s, %s", f.timeout, what)}
}

func unavailable(why string) compat.Outcome {
	return compat.Outcome{Verdict: compat.Unavailable, Error: why}
}

// delayOf is a handler's delay, at most a year: beyond that the number is a mistake.
func delayOf(ms float64) time.Duration {
	const year = 365 * 24 * time.Hour
	if !(ms > 0) { // NaN, too
		return 0
	}
	return time.Duration(min(ms, float64(year.Milliseconds()))) * time.Millisecond
}

// lastChars returns the last n characters of text, more or less: it never cuts one in two.
func lastChars(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && text[0]&0xC0 == 0x80 {
		text = text[1:]
	}
	return text
}
