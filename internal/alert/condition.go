package alert

import (
	"slices"

	"sidecar/queue"
)

// kind is a condition, by its option's name.
type kind string

const (
	backlog      kind = "backlog"
	oldestDue    kind = "oldest_due"
	dead         kind = "dead"
	deadPerHour  kind = "dead_per_hour"
	failedShare  kind = "failed_share"
	pausedFor    kind = "paused_for"
	redisLatency kind = "redis_latency"
	stalled      kind = "stalled"
	fpmDown      kind = "fpm_down"
	redisAway    kind = "redis_away"
)

// condition is one that a rule sets.
type condition struct {
	kind  kind
	limit float64
}

// conditions returns those that the rule sets, in the order in which messages name them.
func (r Rule) conditions() (all []condition) {
	for _, l := range []struct {
		kind  kind
		limit Limit
	}{
		{backlog, r.Backlog},
		{oldestDue, r.OldestDue},
		{dead, r.Dead},
		{deadPerHour, r.DeadPerHour},
		{failedShare, r.FailedShare},
		{pausedFor, r.PausedFor},
		{redisLatency, r.RedisLatency},
	} {
		if l.limit.Set {
			all = append(all, condition{l.kind, l.limit.Above})
		}
	}
	for _, f := range []struct {
		kind kind
		set  bool
	}{{stalled, r.Stalled}, {fpmDown, r.FPMDown}, {redisAway, r.RedisAway}} {
		if f.set {
			all = append(all, condition{kind: f.kind})
		}
	}
	return all
}

// scope is what a rule is looked at for, each by itself.
type scope int

const (
	ofTopics scope = iota + 1
	ofPools
	ofRedis
)

// scope returns the narrowest of the rule's conditions: what is known of Redis or a pool holds for each of its topics.
func (r Rule) scope() scope {
	s := ofRedis
	if len(r.Topics) > 0 {
		return ofTopics
	}
	for _, c := range r.conditions() {
		switch {
		case c.kind.ofTopic():
			return ofTopics
		case c.kind == fpmDown:
			s = ofPools
		}
	}
	return s
}

// ofTopic reports that the condition is about a topic, and not about what several have in common.
func (k kind) ofTopic() bool {
	switch k {
	case backlog, oldestDue, dead, deadPerHour, failedShare, pausedFor, stalled:
		return true
	case fpmDown, redisLatency, redisAway:
	}
	return false
}

// subjects returns the topics or pools that the rule is looked at for; "" is Redis.
func (r Rule) subjects(s Snapshot) (names []string) {
	switch r.scope() {
	case ofTopics:
		for name := range s.Topics {
			if len(r.Topics) == 0 || slices.Contains(r.Topics, name) {
				names = append(names, name)
			}
		}
	case ofPools:
		for name := range s.Pools {
			names = append(names, name)
		}
	case ofRedis:
		names = []string{""}
	}
	slices.Sort(names)
	return names
}

// isOwn reports that a condition is about what a sidecar sees on its own host, so that it matters which one that is.
func (r Rule) isOwn() bool { return r.FPMDown || r.Stalled || r.FailedShare.Set }

// verdict is what a look at a rule's conditions found.
type verdict int

const (
	holds   verdict = iota + 1 // all of them hold
	clear                      // at least one certainly does not
	unknown                    // neither
)

// falls is the part of its limit to which a value must fall until its condition holds no more, so that one that swings
// about the limit does not come and go.
const falls = 0.8

// judge looks at the rule for one subject. fires says that it did before.
func (r Rule) judge(subject string, s Snapshot, fires bool) (verdict, []queue.AlarmReading) {
	v := holds
	var readings []queue.AlarmReading
	topic, pool := s.at(r.scope(), subject)
	if topic.Waits && !r.PausedFor.Set { // a rule with paused_for is about such topics
		topic.Backlog, topic.OldestDue = 0, 0
	}
	for _, c := range r.conditions() {
		value, why, known := s.Redis.value(c.kind, topic, pool)
		limit := c.limit
		if fires {
			limit *= falls
		}
		switch {
		case value > limit: // also of one that is not known whole: it is more, if anything
		case !known && v == holds:
			v = unknown
		case known:
			v = clear
		}
		reading := queue.AlarmReading{Condition: string(c.kind), Value: value, Limit: c.limit, Why: why}
		if c.kind == fpmDown && pool.Full {
			reading.Cause = queue.CauseFull
		}
		readings = append(readings, reading)
	}
	return v, readings
}
