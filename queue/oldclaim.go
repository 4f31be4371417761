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

// Unrenewed reports that an entry of running should have been renewed since it was claimed under such a lease, and was not: whoever claimed
// it is gone, or cannot reach Redis.
func (e Entry) Unrenewed(lease time.Duration, now ServerTime) bool {
	return e.Place == InRunning && e.Claimed > 0 && now.Sub(e.Claimed) > lease/2
}
