// Package stage says at which stage of its life a job is, by where it lies and its times. Commands and dashboard each have their
// own words for it; what is so they ask here.
package stage

import "time"

// Stage is where in its life a job is.
type Stage int

// The stages.
const (
	// Never: it waits in the pool with a score that is no time, and no scanner will ever take it.
	Never Stage = iota + 1
	// Beyond: its time is further off than anybody can mean it. Mostly its score is in another unit than score_unit says.
	Beyond
	// Retry: it waits in the pool for its next try.
	Retry
	// NotDue: it waits in the pool for its time.
	NotDue
	// Due: its time has come, and it waits in the pool for being promoted.
	Due
	// Ready: it waits for a slot.
	Ready
	// Runs: somebody holds it under a lease.
	Runs
	// Lost: its lease is over, so whoever ran it is gone.
	Lost
	// Dead: it does not run any more by itself.
	Dead
)

// beyond is further off than a due time can be meant.
const beyond = 100 * 365 * 24 * time.Hour

// Job is what the stage is judged by. Places are named as queue.Place and dash name them.
type Job struct {
	Place string
	Never bool      // pool: the score is no time
	Due   time.Time // pool; zero: it always has been
	Tried bool      // it has run before, and failed or crashed
	Lease time.Time // running: until when; zero: nobody can tell
}

// Of returns the job's stage at now, by Redis's clock, and for how long it has been due or lost, or is not yet due or has its
// lease; 0 where that is not known, as nothing is at a zero now.
func Of(j Job, now time.Time) (Stage, time.Duration) {
	switch j.Place {
	case "pool":
		return inPool(j, now)
	case "ready":
		return Ready, 0
	case "running":
		return running(j, now)
	}
	return Dead, 0
}

func inPool(j Job, now time.Time) (Stage, time.Duration) {
	until := j.Due.Sub(now) // no longer than a Duration can say, and no shorter
	switch {
	case j.Never:
		return Never, 0
	case j.Due.IsZero():
		return Due, 0
	case now.IsZero():
		until = 0
	case until > beyond:
		return Beyond, until
	case until <= 0:
		return Due, -until
	}
	if j.Tried {
		return Retry, until
	}
	return NotDue, until
}

func running(j Job, now time.Time) (Stage, time.Duration) {
	left := j.Lease.Sub(now)
	switch {
	case j.Lease.IsZero(), now.IsZero():
		return Runs, 0
	case left <= 0:
		return Lost, -left
	}
	return Runs, left
}
