package queue

import (
	"cmp"
	"fmt"
	"time"

	"sidecar/compat"
)

// Action is what becomes of a claim.
type Action int

// The actions. They start at 1, so that a forgotten value is none.
const (
	// Complete: the job is done; its text leaves running.
	Complete Action = iota + 1
	// Requeue: the text goes to the pool, to run later.
	Requeue
	// GiveBack: the same text goes to the head of ready, as if it had not been claimed.
	GiveBack
	// Bury: a dead record goes to dead.
	Bury
	// Leave: nothing is written; the claim stays in running until its lease ends.
	Leave
)

// String returns the action's name as logs spell it.
func (a Action) String() string {
	switch a {
	case Complete:
		return "complete"
	case Requeue:
		return "requeue"
	case GiveBack:
		return "give_back"
	case Bury:
		return "bury"
	case Leave:
		return "leave"
	}
	return "unknown"
}

// Decision says what follows from an outcome.
type Decision struct {
	Action     Action
	Delay      time.Duration // of a Requeue
	Spread     bool          // move Delay by up to 50 %
	CountTry   bool          // retry + 1
	CountCrash bool          // crashes + 1
}

// RetryPolicy decides what follows from an outcome. It is pure: no clock, no chance, no Redis.
type RetryPolicy struct {
	Ladder     []time.Duration // delay before the 2nd, 3rd, … run; its length is the number of retries
	MaxCrashes int             // crashes after which one more is the end

	// ByJob has the job say how often it is retried (CONTRACT 2): Retries times, and the ladder's last step holds for
	// those beyond it.
	ByJob   bool
	Retries int
}

// crashPause is the delay after a crash where the ladder is empty, which it is when failures are not to
// be retried, or would have the job run again at once. A crash is not a failure of the job, so it is no reason to bury it.
const crashPause = 5 * time.Second

// minDeferral keeps a handler that defers by nothing from running the same job again and again: nothing is counted
// then, so that it would never end.
const minDeferral = time.Second

// Decide returns what becomes of a job that had failed and crashed so often before this outcome (DESIGN 5).
func (p RetryPolicy) Decide(tries, crashes int, o compat.Outcome) Decision {
	if o.Held {
		return Decision{Action: Leave}
	}
	switch o.Verdict {
	case compat.Done:
		return Decision{Action: Complete}
	case compat.Failed, compat.TimedOut:
		return p.afterFailure(max(tries, 0))
	case compat.Rejected:
		return Decision{Action: Bury}
	case compat.Deferred:
		return Decision{Action: Requeue, Delay: max(o.Delay, minDeferral)}
	case compat.Crashed:
		return p.afterCrash(max(crashes, 0))
	case compat.Unavailable: // the script never started: not the job's fault
		return Decision{Action: GiveBack}
	}
	panic(fmt.Sprintf("queue: unknown verdict %d", o.Verdict))
}

// afterFailure is CONTRACT 1.3: failure 1 waits for the ladder's first step, the one after its last is the end. It is
// CONTRACT 2 where the job says how often.
func (p RetryPolicy) afterFailure(tries int) Decision {
	retries := len(p.Ladder)
	if p.ByJob {
		retries = p.Retries
	}
	if tries >= retries {
		return Decision{Action: Bury, CountTry: true}
	}
	return Decision{Action: Requeue, Delay: p.step(tries), CountTry: true}
}

// step is the ladder's delay after so many failures or crashes before this one; its last one goes on.
func (p RetryPolicy) step(n int) time.Duration {
	if len(p.Ladder) == 0 {
		return 0
	}
	return p.Ladder[min(n, len(p.Ladder)-1)]
}

// afterCrash spreads the delays: jobs that died together, with one server or one FPM, come back apart.
func (p RetryPolicy) afterCrash(crashes int) Decision {
	if crashes >= p.MaxCrashes {
		return Decision{Action: Bury, CountCrash: true}
	}
	delay := cmp.Or(p.step(crashes), crashPause)
	return Decision{Action: Requeue, Delay: delay, Spread: true, CountCrash: true}
}
