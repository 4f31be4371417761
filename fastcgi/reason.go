package fastcgi

import "slices"

// reason says why a resident worker left, or has to: a closed set of label values. "" = it stays.
type reason string

// The reasons: the bridge's own first.
const (
	byMaxJobs   reason = "max_jobs"
	byMaxMemory reason = "max_memory"
	byFPM       reason = "fpm_stop"
	byRedeclare reason = "redeclare" // a script that cannot be included twice
	byOther     reason = "other"     // the bridge's, unknown here

	byMaxAge    reason = "max_age"
	byIdle      reason = "idle"
	byCode      reason = "code"
	byRenewal   reason = "renew"
	byEviction  reason = "evicted" // another topic needs the slot
	byDrain     reason = "drain"
	bySilence   reason = "silent" // a ping went unanswered
	byTimeout   reason = "timeout"
	byStop      reason = "stopped"
	byDeath     reason = "died"
	byBootstrap reason = "bootstrap" // it never came to serve
)

func reasons() []reason {
	return []reason{
		byMaxJobs, byMaxMemory, byFPM, byRedeclare, byOther,
		byMaxAge, byIdle, byCode, byRenewal, byEviction, byDrain, bySilence, byTimeout, byStop, byDeath, byBootstrap,
	}
}

// reasonOf reads the bridge's own word.
func reasonOf(why string) reason {
	r := reason(why)
	if slices.Contains([]reason{byMaxJobs, byMaxMemory, byFPM, byRedeclare}, r) {
		return r
	}
	return byOther
}
