package dash

import (
	"slices"

	"sidecar/internal/stage"
)

// Reason says why a job does not run now, and by its code also what to do about it.
type Reason struct {
	Code    string  `json:"code"`              // of the constants below
	Text    string  `json:"text,omitempty"`    // a cause in its own words
	N       int64   `json:"n,omitempty"`       // jobs before it, or how often it has failed
	Crashes int64   `json:"crashes,omitempty"` // failed and retry: runs without a verdict, which are not in N
	For     Seconds `json:"seconds,omitzero"`  // until it is due, or since it was; until its lease ends, or since
}

// Codes of reasons. First those that the job's place gives, then those of its topic's state.
const (
	WhyFailed     = "failed" // dead
	WhyUnreadable = "unreadable"
	WhyNever      = "never"  // its score is no time
	WhyBeyond     = "beyond" // its time is further off than anybody can mean it
	WhyRuns       = "runs"
	WhyOld        = "old"    // an old consumer holds it
	WhyOrphan     = "orphan" // nobody renews its lease
	WhyLeaseOver  = "lease_over"
	WhyRetry      = "retry"   // waits for its next try
	WhyNotDue     = "not_due" // waits for its time
	WhyDue        = "due"     // is due and not yet moved to ready
	WhyReady      = "ready"   // waits for a slot
	WhyPaused     = "paused"  // by a person
	WhyWindow     = "window"  // by a pause window
	WhyBreaker    = "breaker"
	WhyShut       = "shut"
	WhyLooking    = "looking"
	WhyStalled    = "stalled"
	WhyTrouble    = "trouble"
	WhyUnconsumed = "unconsumed"
	WhyPressed    = "pressed"
	WhyThrottled  = "throttled"
)

// Why says why the job does not run now, what counts most first: what its place gives, and where it could run but for its
// topic, that, too.
func (v JobView) Why() []Reason {
	place := v.place()
	switch place.Code {
	case WhyFailed, WhyUnreadable, WhyRuns, WhyOld, WhyOrphan:
		return []Reason{place}
	case WhyDue, WhyReady: // its turn would have come
		return append(v.State.why(v.Row.Key), place)
	}
	return append([]Reason{place}, v.State.why(v.Row.Key)...)
}

func (v JobView) place() Reason {
	tries, crashes := int64(v.Row.Tries), int64(v.Row.Crashes)
	at, length := stage.Of(stage.Job{
		Place: v.Row.Key, Never: v.Row.Never, Due: v.Row.Due, Tried: tries+crashes > 0, Lease: v.Row.Lease,
	}, v.Now)
	r := Reason{For: Seconds(length.Seconds())}
	switch at {
	case stage.Dead:
		if v.Row.Unread != "" {
			return Reason{Code: WhyUnreadable, Text: v.Row.Unread}
		}
		return Reason{Code: WhyFailed, Text: v.Row.Error, N: tries, Crashes: crashes}
	case stage.Lost:
		r.Code = WhyLeaseOver
	case stage.Runs:
		switch r.Code = WhyRuns; {
		case v.Row.Old:
			r.Code = WhyOld
		case v.Row.Unrenewed:
			r.Code = WhyOrphan
		}
	case stage.Never:
		r.Code = WhyNever
	case stage.Beyond:
		r.Code = WhyBeyond
	case stage.Retry:
		r.Code, r.N, r.Crashes, r.Text = WhyRetry, tries, crashes, v.LastError
	case stage.NotDue:
		r.Code = WhyNotDue
	case stage.Due:
		r.Code, r.N = WhyDue, v.Ahead
	case stage.Ready:
		r.Code, r.N = WhyReady, v.Ahead
	}
	return r
}

// why says what keeps jobs of a key from running.
func (s State) why(key string) (reasons []Reason) {
	if s.Unconsumed {
		reasons = append(reasons, Reason{Code: WhyUnconsumed})
	}
	switch {
	case s.ByPerson():
		reasons = append(reasons, Reason{Code: WhyPaused, Text: s.Paused.Reason})
	case s.Paused != nil:
		reasons = append(reasons, Reason{Code: WhyWindow, Text: s.Paused.Window})
	}
	if s.Breaker != nil {
		reasons = append(reasons, Reason{Code: WhyBreaker, Text: s.Breaker.Error, N: int64(s.Breaker.Failures)})
	}
	if s.Looking {
		reasons = append(reasons, Reason{Code: WhyLooking})
	}
	for _, text := range s.Shut {
		reasons = append(reasons, Reason{Code: WhyShut, Text: text})
	}
	for _, text := range s.Trouble {
		reasons = append(reasons, Reason{Code: WhyTrouble, Text: text})
	}
	if s.Stalled != "" {
		reasons = append(reasons, Reason{Code: WhyStalled, Text: s.Stalled})
	}
	if s.Backpressure && key == KeyPool {
		reasons = append(reasons, Reason{Code: WhyPressed})
	}
	if s.Throttled != "" {
		reasons = append(reasons, Reason{Code: WhyThrottled, Text: s.Throttled})
	}
	return slices.Clip(reasons)
}
