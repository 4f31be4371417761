package queue

import (
	"math"
	"strconv"
	"time"
)

// renewalStep is what renewed leases end on a multiple of. Claims' leases end between whole milliseconds, and those of old consumers on
// any whole one: so of a hundred of theirs ninety-nine are known for what they are.
const renewalStep = 100 * time.Millisecond

// renewedTo returns the first end of a renewed lease that is not before t.
func renewedTo(t ServerTime) ServerTime {
	step := ServerTime(renewalStep.Microseconds())
	return (t + step - 1) / step * step
}

// IsOldClaim reports that no sidecar wrote the score of an entry of running: an old consumer holds the job, which does
// not renew its lease. Sidecars that said nothing of their settings renewed as old consumers claim: see KnownByLeases.
func IsOldClaim(score string) bool {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsInf(ms, 0) || ms <= 0 || ms != math.Trunc(ms) {
		return false
	}
	return math.Mod(ms, float64(renewalStep.Milliseconds())) != 0
}

// oldSidecarFor is for how long leases may be around that a sidecar of an older version wrote.
const oldSidecarFor = 10 * time.Minute

// KnownByLeases reports that an old consumer's claims in the topic can be told by their leases: no sidecar of an older version,
// whose renewals look the same, was heard of lately.
func KnownByLeases(beats []Heartbeat, topic string, now time.Time) bool {
	for _, b := range beats {
		if b.Has(topic) && b.Settings[topic] == "" && now.Sub(b.At) < oldSidecarFor {
			return false
		}
	}
	return true
}

// LeaseOf returns when the lease ends that a score of running is; 0: at no time that could be told.
func LeaseOf(score string) ServerTime {
	end, _ := leaseEnd(Lease(score))
	return end
}

// Leases are how long those may be that a topic's jobs were claimed under: of one length, but while the option changes.
type Leases struct{ Shortest, Longest time.Duration }

// LeasesOf returns the leases of the sidecars that have a topic, or had it until lately; own where none of them says how long they are.
func LeasesOf(beats []Heartbeat, topic string, own time.Duration, now time.Time) Leases {
	var l Leases
	for _, b := range beats {
		lease := b.LeaseOf(topic)
		if lease <= 0 || now.Sub(b.At) >= oldSidecarFor {
			continue
		}
		if l.Longest = max(l.Longest, lease); l.Shortest == 0 || lease < l.Shortest {
			l.Shortest = lease
		}
	}
	if l.Longest == 0 {
		return Leases{own, own}
	}
	return l
}

// Claimed returns when an entry of running was claimed, at the earliest and at the latest; 0 where that is not known.
func (l Leases) Claimed(e Entry) (first, last ServerTime) {
	if e.Place != InRunning || !e.Unchanged {
		return 0, 0
	}
	return e.Lease.Add(-l.Longest), e.Lease.Add(-l.Shortest)
}

// Unrenewed reports that an entry of running should have been renewed since it was claimed, whatever its lease was, and was not: whoever claimed
// it is gone, or cannot reach Redis.
func (l Leases) Unrenewed(e Entry, now ServerTime) bool {
	_, last := l.Claimed(e)
	return last > 0 && now.Sub(last) > l.Shortest/2
}
