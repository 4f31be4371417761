package dash

import (
	"cmp"
	"slices"
	"strings"
)

// Problem is something that is wrong right now.
type Problem struct {
	Code    string    `json:"code"`             // of the constants below
	Severe  bool      `json:"severe,omitempty"` // jobs do not run, or are not known about
	Names   []string  `json:"names,omitempty"`  // of topics, pools or sidecars: the Code says which; the worst first
	Text    string    `json:"text,omitempty"`   // the first one's cause, in its own words
	Count   int64     `json:"count,omitempty"`
	Longest Seconds   `json:"longest_seconds,omitempty"`
	Ages    []Seconds `json:"ages_seconds,omitempty"` // of Names, where that is what is wrong

	Alarm *Alarm `json:"-"` // the one that it is; Overview has it, too
}

// Codes of problems.
const (
	ProblemRedisDown  = "redis_down"
	ProblemRedisFull  = "redis_full" // Count is percent of maxmemory
	ProblemRefuses    = "redis_refuses"
	ProblemEvicts     = "redis_evicts" // Count is percent of maxmemory; Text is the policy
	ProblemStarting   = "starting"
	ProblemStopping   = "stopping"
	ProblemNoSidecar  = "no_sidecar"
	ProblemLost       = "sidecar_lost"
	ProblemNotReady   = "sidecar_not_ready"
	ProblemReload     = "reload_refused"
	ProblemPoolDown   = "pool_down"
	ProblemPoolSilent = "pool_silent"
	ProblemShut       = "topics_shut"
	ProblemStalled    = "topics_stalled"
	ProblemTrouble    = "topics_trouble"
	ProblemUnconsumed = "topics_unconsumed"
	ProblemUnknown    = "topics_unknown"
	ProblemLate       = "topics_late"
	ProblemBreaker    = "topics_breaker"
	ProblemPaused     = "topics_paused"
	ProblemPressed    = "topics_pressed"
	ProblemDead       = "topics_dead"
	ProblemDiffer     = "topics_differ"
	ProblemJobsLost   = "jobs_lost" // within a day
	ProblemUnit       = "topics_unit"
	ProblemUnreadable = "topics_unreadable"
	ProblemAlarm      = "alarm" // Names are one rule and its topic or pool
)

// redisFullFrom is from how many percent of maxmemory on Redis is nearly full.
const redisFullFrom = 90

// Problems says what is wrong, the gravest first. What follows from another is left out where that is certain: topics whose
// pool is down are not also told to be shut.
func (o Overview) Problems() []Problem {
	found := slices.Concat(o.serverProblems(), o.sidecarProblems(), o.poolProblems(), o.topicProblems(), o.incidentProblems(), o.alarmProblems())
	slices.SortStableFunc(found, func(a, b Problem) int {
		switch {
		case a.Severe == b.Severe:
			return 0
		case a.Severe:
			return -1
		}
		return 1
	})
	return found
}

func (o Overview) serverProblems() (found []Problem) {
	switch {
	case !o.Redis.Up:
		found = append(found, Problem{Code: ProblemRedisDown, Severe: true, Text: o.Redis.Error})
	case o.Redis.Refuses:
		found = append(found, Problem{Code: ProblemRefuses, Severe: true})
	case o.Redis.MaxBytes > 0:
		found = append(found, o.Redis.memoryProblems()...)
	}
	switch {
	case o.Stopping:
		found = append(found, Problem{Code: ProblemStopping})
	case o.Starting:
		found = append(found, Problem{Code: ProblemStarting})
	}
	return found
}

// memoryProblems says what comes of maxmemory. A cache beside the queues fills up, and makes room by itself.
func (r Redis) memoryProblems() []Problem {
	full := 100 * r.UsedBytes / r.MaxBytes
	switch {
	case strings.HasPrefix(r.Policy, "volatile-"):
	case strings.HasPrefix(r.Policy, "allkeys-"):
		return []Problem{{Code: ProblemEvicts, Severe: true, Count: full, Text: "maxmemory-policy is " + r.Policy}}
	case full >= redisFullFrom:
		return []Problem{{Code: ProblemRedisFull, Severe: true, Count: full}}
	}
	return nil
}

// incidentProblems are about what happened within a day, and about sidecars that do not agree.
func (o Overview) incidentProblems() []Problem {
	lost := Problem{Code: ProblemJobsLost, Severe: true}
	differ, unit, unread := Problem{Code: ProblemDiffer}, Problem{Code: ProblemUnit}, Problem{Code: ProblemUnreadable}
	for _, d := range o.Differ {
		differ.add(d.Topic, d.Text)
	}
	for _, i := range o.Incidents {
		switch i.Kind {
		case IncidentLost:
			lost.add(i.Topic, i.Text)
			lost.Count += i.Count
		case IncidentUnit:
			unit.add(i.Topic, i.Text)
		case IncidentUnreadable:
			unread.add(i.Topic, i.Text)
		}
	}
	return filled(lost, differ, unit, unread)
}

func (o Overview) sidecarProblems() (found []Problem) {
	lost, unready, reload := Problem{Code: ProblemLost}, Problem{Code: ProblemNotReady}, Problem{Code: ProblemReload}
	alive := 0
	for _, s := range o.Sidecars {
		if s.Reload != "" && s.State != SidecarLost {
			reload.add(s.Instance, s.Reload)
		}
		switch s.State {
		case SidecarLost:
			lost.Names = append(lost.Names, s.Instance)
		case SidecarNotReady:
			if !s.Looking {
				unready.add(s.Instance, first(s.Reasons))
			}
			alive++
		default:
			alive++
		}
	}
	if alive == 0 && o.Redis.Up {
		found = append(found, Problem{Code: ProblemNoSidecar, Severe: true})
	}
	return append(found, filled(lost, unready, reload)...)
}

func (o Overview) poolProblems() (found []Problem) {
	down, silent := Problem{Code: ProblemPoolDown, Severe: true}, Problem{Code: ProblemPoolSilent, Severe: true}
	for _, p := range o.Pools {
		switch {
		case p.Full:
			silent.add(p.Name, p.Down)
		case p.Down != "":
			down.add(p.Name, p.Down)
		case p.Silent > 0:
			silent.add(p.Name, "")
			silent.Longest = max(silent.Longest, p.Silent)
		}
	}
	return filled(down, silent)
}

// topicProblems goes through the topics, those with the oldest due job first.
func (o Overview) topicProblems() []Problem {
	topics := slices.Clone(o.Topics)
	slices.SortStableFunc(topics, func(a, b Topic) int { return cmp.Compare(b.OldestDue, a.OldestDue) })
	unknown := Problem{Code: ProblemUnknown, Severe: true}
	stalled := Problem{Code: ProblemStalled, Severe: true}
	shut := Problem{Code: ProblemShut, Severe: true}
	trouble := Problem{Code: ProblemTrouble, Severe: true}
	unconsumed := Problem{Code: ProblemUnconsumed, Severe: true}
	late := Problem{Code: ProblemLate, Severe: true}
	breaker, paused := Problem{Code: ProblemBreaker}, Problem{Code: ProblemPaused}
	pressed, dead := Problem{Code: ProblemPressed}, Problem{Code: ProblemDead}
	for _, t := range topics {
		if t.Error != "" && o.Redis.Up {
			unknown.add(t.Name, t.Error)
		}
		if t.State.Stalled != "" {
			stalled.add(t.Name, t.State.Stalled)
		}
		if len(t.State.Shut) > 0 && !o.poolDown(t.Pool) {
			shut.add(t.Name, t.State.Shut[0])
		}
		if len(t.State.Trouble) > 0 && o.Redis.Up {
			trouble.add(t.Name, t.State.Trouble[0])
		}
		if t.State.Unconsumed && !o.Starting {
			unconsumed.add(t.Name, "")
		}
		if t.Late() {
			late.add(t.Name, "")
			late.Ages = append(late.Ages, t.OldestDue)
			late.Longest = max(late.Longest, t.OldestDue)
		}
		if t.State.Breaker != nil {
			breaker.add(t.Name, t.State.Breaker.Error)
		}
		if t.State.Paused != nil {
			paused.add(t.Name, t.State.Paused.Reason)
		}
		if t.State.Backpressure {
			pressed.add(t.Name, "")
		}
		if t.Recent.DeadPerHour > 0 {
			dead.add(t.Name, "")
			dead.Count += t.Recent.DeadPerHour
		}
	}
	return filled(late, stalled, shut, trouble, unconsumed, unknown, breaker, paused, pressed, dead)
}

func (o Overview) alarmProblems() (found []Problem) {
	for _, a := range o.Alarms {
		if !a.Muted {
			found = append(found, Problem{Code: ProblemAlarm, Names: []string{a.Rule, cmp.Or(a.Topic, a.Pool)}, Text: a.Text, Alarm: &a})
		}
	}
	return found
}

func (o Overview) poolDown(name string) bool {
	return slices.ContainsFunc(o.Pools, func(p Pool) bool { return p.Name == name && (p.Down != "" || p.Silent > 0) })
}

// Late reports that t's oldest due job has waited for longer than it should. While a topic is paused, it is meant to wait.
func (t Topic) Late() bool {
	return t.State.Paused == nil && t.LateAfter > 0 && t.OldestDue > t.LateAfter
}

// Wrong reports that something keeps t from running, or that it is late.
func (t Topic) Wrong() bool {
	s := t.State
	return t.Error != "" || t.Late() || s.Paused != nil || s.Breaker != nil || len(s.Shut) > 0 || s.Stalled != "" ||
		len(s.Trouble) > 0 || s.Backpressure || s.Unconsumed
}

// add names one more of what is wrong, and keeps the first cause.
func (p *Problem) add(name, cause string) {
	if !slices.Contains(p.Names, name) {
		p.Names = append(p.Names, name)
	}
	if p.Text == "" {
		p.Text = cause
	}
}

func filled(problems ...Problem) []Problem {
	return slices.DeleteFunc(problems, func(p Problem) bool { return len(p.Names) == 0 })
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}
