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
	redisAway                       // nobody can settle, or knows whether he has
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
