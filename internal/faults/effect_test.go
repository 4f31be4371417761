package faults

import (
	"fmt"
	"time"
)

// effect is what a fault does to those it hits. It is why a run that ended may not have been settled.
type effect int

const (
	sidecarKilled effect = iota + 1 // who is gone, with the verdicts it had
	sidecarFrozen                   // who stands still; its leases may end
	childKilled                     // the PHP child pid is gone, perhaps between the ledger's line and the verdict
	fpmGone                         // all PHP children
	redisAway                       // who cannot settle, or does not know whether he has
)

func (e effect) String() string {
	switch e {
	case sidecarKilled:
		return "sidecar killed"
	case sidecarFrozen:
		return "sidecar frozen"
	case childKilled:
		return "child killed"
	case fpmGone:
		return "FPM gone"
	case redisAway:
		return "Redis away"
	}
	return fmt.Sprintf("effect(%d)", int(e))
}

// mark is one effect that a strike had, and when.
type mark struct {
	effect   effect
	who      string // the sidecar, "" = both
	pid      int    // the PHP child
	from, to time.Time
}

// mark notes an effect that begins now. Call the function it returns when it is over.
func (s *shop) mark(e effect, who string, pid int) (over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.marks)
	s.marks = append(s.marks, mark{effect: e, who: who, pid: pid, from: time.Now()})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.marks[i].to = time.Now()
	}
}

// forgot tells which jobs Redis has forgotten by a strike.
func (s *shop) forgot(uuids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uuid := range uuids {
		s.forgotten[uuid] = true
	}
}

// settleTime is how long after a run's end its verdict may still be on the way to Redis, on a machine that has more to
// do than it can.
const settleTime = time.Second

// explains reports whether the effect may be why the run, although it ended, was not settled by the time its job started
// again. It must have hit the one who ran it, between the start of the run and its settling.
func (m mark) explains(r run) bool {
	to := m.to
	if m.effect == sidecarFrozen {
		to = to.Add(settleTime) // what it held then it starts with the little that is left of the leases
	}
	if r.who == old || m.from.After(r.end.Add(settleTime)) || !m.to.IsZero() && to.Before(r.start) {
		return false
	}
	switch m.effect {
	case childKilled:
		return m.pid == r.pid
	case sidecarKilled, sidecarFrozen, fpmGone, redisAway:
		return m.who == "" || m.who == r.who
	}
	return false
}

// markWhole takes all that runs during a strike to be hit, unless the strike tells itself whom it hit or is harmless.
// Call the function it returns when the strike is over.
func (s *shop) markWhole(k kind) (over func()) {
	s.mu.Lock()
	before := len(s.marks)
	s.mu.Unlock()
	from := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.marks) == before && !k.harmless {
			s.marks = append(s.marks, mark{effect: redisAway, from: from, to: time.Now()})
		}
	}
}
