package queue

import (
	"fmt"
	"time"
)

// HoldKind says what holds a topic back.
type HoldKind int

// The kinds of holds. They start at 1, so that a forgotten value is none.
const (
	// HoldManual: somebody has paused the topic, for all sidecars.
	HoldManual HoldKind = iota + 1
	// HoldWindow: it is the time of one of its pause windows.
	HoldWindow
	// HoldBreaker: its runs on this sidecar have failed with one error too often in a row.
	HoldBreaker
	// HoldRate: it has started as many jobs as its rate grants.
	HoldRate
)

// HoldKinds lists every kind, in order.
func HoldKinds() []HoldKind { return []HoldKind{HoldManual, HoldWindow, HoldBreaker, HoldRate} }

// String returns the kind's name as metrics, logs and JSON spell it.
func (k HoldKind) String() string {
	switch k {
	case HoldManual:
		return "manual"
	case HoldWindow:
		return "window"
	case HoldBreaker:
		return "breaker"
	case HoldRate:
		return "rate"
	}
	return "unknown"
}

// MarshalText implements encoding.TextMarshaler.
func (k HoldKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *HoldKind) UnmarshalText(text []byte) error {
	for _, known := range HoldKinds() {
		if known.String() == string(text) {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("%q is no kind of hold", text)
}

// Hold is one reason why a topic's jobs are not claimed, or not as fast as they could be. None of them is a fault of the
// sidecar's. Its JSON names are a promise.
type Hold struct {
	Kind   HoldKind  `json:"kind"`
	Since  time.Time `json:"since,omitzero"`  // zero: not known
	Until  time.Time `json:"until,omitzero"`  // zero: not known, or until somebody ends it
	By     string    `json:"by,omitzero"`     // who asked for it; of HoldManual
	Reason string    `json:"reason,omitzero"` // in words for people

	// Of HoldBreaker: how many equal failures made it, what they have in common, and when the next job is tried. The class
	// quotes the jobs' errors.
	Failures int       `json:"failures,omitzero"`
	Class    string    `json:"class,omitzero"`
	Probe    time.Time `json:"probe,omitzero"`
}

// errHeld says why no claim is to be expected.
func errHeld(kind HoldKind) error { return fmt.Errorf("held back (%s)", kind) }

// HeldTopic is a hold of a topic.
type HeldTopic struct {
	Topic string `json:"topic"`
	Hold
}

// hold returns the pause as a Hold.
func (p Pause) hold() Hold {
	return Hold{Kind: HoldManual, Since: p.At, Until: p.Until, By: p.By, Reason: p.Reason}
}

// Holds returns what holds a topic with these options back on every sidecar: pause, if there is one, and a window that is
// on at now, by the wall clock of loc. What a single sidecar knows, its breaker and its rate, is for [Consumer.Holds].
func (o Options) Holds(pause *Pause, now time.Time, loc *time.Location) []Hold {
	var holds []Hold
	if pause != nil && !pause.Over(now) {
		holds = append(holds, pause.hold())
	}
	if window, on := windowAt(o.PauseWindows, now, loc); on {
		holds = append(holds, Hold{Kind: HoldWindow, Until: windowsEnd(o.PauseWindows, now, loc), Reason: window.String()})
	}
	return holds
}
