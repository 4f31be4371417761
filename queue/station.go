package queue

import (
	"fmt"
	"sync/atomic"
	"time"
)

// step is what a loop does at a moment.
type step int32

// The steps of the loops. They start at 1, so that a forgotten value is none.
const (
	starting step = iota + 1
	promoting
	lookingForExpired
	resting
	heldBack
	awaitingTokens
	awaitingReady
	awaitingRuns
	awaitingVerdicts
	awaitingSlots
	claiming
	sorting
	renewing
	backingOff
)

// String returns the step as the log spells it.
func (s step) String() string {
	switch s {
	case starting:
		return "starting"
	case promoting:
		return "promoting"
	case lookingForExpired:
		return "looking for expired claims"
	case resting:
		return "resting"
	case heldBack:
		return "held back"
	case awaitingTokens:
		return "waiting for what the rate grants"
	case awaitingReady:
		return "waiting for ready"
	case awaitingRuns:
		return "waiting for runs to end"
	case awaitingVerdicts:
		return "waiting for verdicts to reach redis"
	case awaitingSlots:
		return "waiting for slots"
	case claiming:
		return "claiming"
	case sorting:
		return "sorting claims"
	case renewing:
		return "renewing leases"
	case backingOff:
		return "waiting after an error"
	}
	return "unknown"
}

// station is where a loop is, and since when, for whoever wonders why it gets no further. It takes no lock: the loop
// may be stuck with one.
type station struct {
	born  time.Time
	step  atomic.Int32
	since atomic.Int64 // nanoseconds from born
}

func newStation() *station {
	s := &station{born: time.Now()}
	s.at(starting)
	return s
}

// at notes that the loop is at a step now.
func (s *station) at(now step) {
	s.step.Store(int32(now))
	s.since.Store(int64(time.Since(s.born)))
}

func (s *station) is(here step) bool { return step(s.step.Load()) == here }

// String says where the loop is.
func (s *station) String() string {
	stood := time.Since(s.born) - time.Duration(s.since.Load())
	return fmt.Sprintf("%s for %s", step(s.step.Load()), stood.Round(time.Millisecond))
}
