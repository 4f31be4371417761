package fastcgi

import (
	"errors"
	"strings"
)

// ErrNotSeen is why a gate is shut at first. It is no fault: somebody looks, and a look that fails gives another reason.
var ErrNotSeen = errors.New("being looked at, not seen yet")

// IsNotSeen reports that reason, as another sidecar's heartbeat tells it, is ErrNotSeen and no fault.
func IsNotSeen(reason string) bool { return strings.HasSuffix(reason, ErrNotSeen.Error()) }

// gate says whether jobs may start. It begins shut: nothing is claimed for an FPM or a handler that nobody has
// seen. Guarded by Pool.mu.
type gate struct {
	reason  error  // why it is shut; nil while it is open
	faults  int    // times it was shut and looks in vain, since a run last went well: the backoff's measure
	probing bool   // somebody looks whether it may be opened
	doubt   *doubt // a topic's: a run knows better than the checks
	trial   bool   // one job may run although it is shut
}

func newGate() gate { return gate{reason: ErrNotSeen} }

func (g *gate) open() bool { return g.reason == nil }

// admits reports whether a job may start beside those that have used slots.
func (g *gate) admits(used int) bool { return g.open() || g.trial && used == 0 }

// shut shuts the gate and reports whether that, or the reason, is news.
func (g *gate) shut(reason error) bool {
	news := g.reason == nil || g.reason.Error() != reason.Error()
	if g.reason == nil {
		g.faults++ // many runs may fail at once: one fault
	}
	g.reason, g.trial = reason, false
	return news
}

// unshut opens the gate and reports whether that is news. The count of faults stays until a run proves them past:
// a check that succeeds where every run then fails must not become a loop.
func (g *gate) unshut() bool {
	news := g.reason != nil
	g.reason, g.doubt, g.trial = nil, nil, false
	return news
}
