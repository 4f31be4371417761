package compat

import "time"

// Verdict says how one run of a job ended.
type Verdict int

// The verdicts, and what becomes of the job (DESIGN 5). They start at 1, so that a forgotten value is no verdict.
const (
	// Done: the bridge's success sign arrived. The job is complete.
	Done Verdict = iota + 1
	// Failed: the handler threw. The try is counted; ladder, then dead.
	Failed
	// Rejected: the handler says never again. Dead at once.
	Rejected
	// Deferred: the handler asks for another time. Back to the pool at its delay, no try counted.
	Deferred
	// Crashed: the script had started and no verdict came. Counted in a field of its own; ladder, then dead.
	Crashed
	// TimedOut: the script ran longer than its timeout and was stopped. Then like Failed.
	TimedOut
	// Unavailable: the script never started. The same text goes back, nothing is counted.
	Unavailable
)

// Verdicts lists every verdict, in order.
func Verdicts() []Verdict {
	return []Verdict{Done, Failed, Rejected, Deferred, Crashed, TimedOut, Unavailable}
}

// String returns the verdict's name as logs and metric labels spell it.
func (v Verdict) String() string {
	switch v {
	case Done:
		return "done"
	case Failed:
		return "failed"
	case Rejected:
		return "rejected"
	case Deferred:
		return "deferred"
	case Crashed:
		return "crashed"
	case TimedOut:
		return "timed_out"
	case Unavailable:
		return "unavailable"
	}
	return "unknown"
}

// Outcome is what one run of a job came to.
type Outcome struct {
	Verdict Verdict

	// Error is the reason in one text, empty for Done. It becomes last_error and the dead record's error.
	Error string

	// Trace is the handler's stack trace, or the run's stderr where there is none. It becomes the dead record's trace.
	Trace string

	// Delay is how far from now a Deferred job wants to be due.
	Delay time.Duration

	// Took is how long the run itself took, where that is known better than by who waited for it; else 0.
	Took time.Duration

	// Held reports that the script may still be running and could not be stopped: the claim
	// must be left to its lease, neither settled nor given back.
	Held bool
}
