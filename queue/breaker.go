package queue

import (
	"time"

	"sidecar/compat"
)

// breaker counts failures in a row that are equal, and says when to stop and when to try again. It is pure: who uses it
// holds the lock and knows the time.
type breaker struct {
	limit int           // failures in a row that are one too many; 0: none are
	every time.Duration // between two probes

	class string // of the failures so far
	job   string // the last of them
	equal int    // how many there were
	trip  *trip  // nil: it has not tripped
}

// trip is a breaker's state while it holds its topic.
type trip struct {
	at       time.Time // when
	failures int       // that made it
	class    string
	next     time.Time // the next probe
	probe    *pass     // that is out for one, or under which one runs; nil: none
}

// saw takes what a run came to that was no probe, and reports whether the breaker has tripped by it.
func (b *breaker) saw(uuid string, o compat.Outcome, now time.Time) bool {
	if b.limit == 0 || b.trip != nil { // what began before the trip says nothing new
		return false
	}
	switch o.Verdict {
	case compat.Done:
		b.class, b.job, b.equal = "", "", 0
	case compat.Failed, compat.Rejected, compat.Crashed, compat.TimedOut:
		b.count(o.Verdict.String()+": "+ErrorClass(o.Error), uuid)
	case compat.Deferred, compat.Unavailable: // neither a failure nor a proof that it works
	}
	if b.equal < b.limit {
		return false
	}
	b.trip = &trip{at: now, failures: b.equal, class: b.class, next: now.Add(b.every)}
	b.class, b.job, b.equal = "", "", 0
	return true
}

func (b *breaker) count(class, uuid string) {
	switch {
	case class != b.class:
		b.class, b.equal = class, 1
	case uuid != b.job || uuid == "": // one job that fails again and again is that job's fault
		b.equal++
	}
	b.job = uuid
}

// mayProbe reports that a job is to be let through now, and else how long until then.
func (t *trip) mayProbe(now time.Time) (bool, time.Duration) {
	if t.probe != nil && !t.probe.abandoned() {
		return false, 0 // its end will tell
	}
	wait := t.next.Sub(now)
	return wait <= 0, wait
}

// probed takes what a probe came to, and reports whether the breaker has opened by it. One that has not run says
// nothing, and there is another one soon.
func (b *breaker) probed(o compat.Outcome, now time.Time) bool {
	if b.trip == nil {
		return false
	}
	b.trip.probe = nil
	switch o.Verdict {
	case compat.Done, compat.Deferred: // the code has run as it should
		b.trip = nil
		return true
	case compat.Unavailable:
		b.trip.next = now.Add(min(b.every, unprobed))
	case compat.Failed, compat.Rejected, compat.Crashed, compat.TimedOut:
		b.trip.next = now.Add(b.every)
	}
	return false
}

// unprobed is how long after a probe that did not run there is another one.
const unprobed = time.Second

// set changes limit and interval. Without a limit the topic is held no more.
func (b *breaker) set(limit int, every time.Duration) {
	if b.trip != nil && every < b.every {
		b.trip.next = b.trip.next.Add(every - b.every)
	}
	b.limit, b.every = limit, every
	if limit == 0 {
		*b = breaker{every: every}
	}
}
