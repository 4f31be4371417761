package alert

import (
	"maps"
	"time"

	"sidecar/queue"
)

// overMost is for how long a recovery is offered to targets that do not take it.
const overMost = time.Hour

// sight is what this process knows of one rule and subject after a look.
type sight struct {
	rule     Rule
	subject  string
	readings []queue.AlarmReading
	holds    bool          // its conditions hold now
	held     time.Duration // for so long
	firm     bool          // long enough to be an alarm
	calm     bool          // they have not held for as long as recover_after
	by       string        // this host, where another one may find it otherwise
	silenced bool
}

// step returns what becomes of an alarm, nil for none, after a look; old is nil where there was none. Who was told is for
// the couriers to note. It changes nothing of old.
func step(old *queue.Alarm, s sight, now time.Time) *queue.Alarm {
	switch {
	case old == nil && s.firm:
		return &queue.Alarm{
			Rule: s.rule.Name, Subject: s.subject, Severity: s.rule.Severity,
			Since: now.Add(-s.held), Seen: now, By: s.by, Readings: s.readings,
		}
	case old == nil:
		return nil
	case isAhead(old.Seen, now) || isAhead(old.Over, now):
		return setBack(*old, now)
	case !old.Over.IsZero():
		return stepOver(*old, s, now)
	case s.holds && (now.Sub(old.Seen) >= s.rule.RecoverAfter/4 || cause(old.Readings) != cause(s.readings)):
		next := *old
		next.Seen, next.By, next.Readings, next.Severity = now, s.by, s.readings, s.rule.Severity
		return &next
	case s.calm && now.Sub(old.Seen) >= s.rule.RecoverAfter: // nobody else has seen them hold either
		if !s.rule.Recovery || s.silenced || len(old.Told) == 0 {
			return nil
		}
		next := *old
		next.Over = now
		return &next
	}
	return old
}

// cause is the first that readings name.
func cause(readings []queue.AlarmReading) string {
	for _, r := range readings {
		if r.Cause != "" {
			return r.Cause
		}
	}
	return ""
}

// aheadMost is how far ahead of now a time may be that another sidecar wrote since now was read.
const aheadMost = time.Minute

// isAhead reports a time that was written before Redis's clock was set back, as a failover to another host may do: waiting
// until it is over could take for ever.
func isAhead(t, now time.Time) bool { return t.Sub(now) > aheadMost }

// setBack returns a with its times as they would be by the clock as it is now.
func setBack(a queue.Alarm, now time.Time) *queue.Alarm {
	for _, t := range []*time.Time{&a.Since, &a.Seen, &a.Over} {
		if t.After(now) {
			*t = now
		}
	}
	a.Told = maps.Clone(a.Told)
	for target, at := range a.Told {
		if at.After(now) {
			a.Told[target] = now
		}
	}
	return &a
}

// stepOver is step for an alarm that is over, of which some targets do not know that yet.
func stepOver(old queue.Alarm, s sight, now time.Time) *queue.Alarm {
	switch {
	case s.firm: // those who were told of it need not hear that it was over
		next := old
		next.Over, next.Since, next.Seen, next.By, next.Readings = time.Time{}, now.Add(-s.held), now, s.by, s.readings
		return &next
	case s.silenced || len(old.Told) == 0 || now.Sub(old.Over) > overMost:
		return nil
	}
	return &old
}

// news is what a target is to hear of an alarm.
type news string

// The news, as the generic form spells them.
const (
	nothing   news = ""
	firing    news = "firing"
	still     news = "still"
	recovered news = "recovered"
	trial     news = "test"
)

// due returns what target is to hear of a now.
func due(a queue.Alarm, r Rule, target string, silenced bool, now time.Time) news {
	told, knows := a.Told[target]
	switch {
	case silenced:
		return nothing
	case !a.Over.IsZero():
		if knows {
			return recovered
		}
		return nothing
	case !knows:
		return firing
	case r.RepeatEvery > 0 && now.Sub(told) >= r.RepeatEvery:
		return still
	}
	return nothing
}

// told returns what becomes of a when target has heard n of it; nil when nobody is left who has to.
func told(a queue.Alarm, target string, n news, now time.Time) *queue.Alarm {
	a.Told = maps.Clone(a.Told)
	if n != recovered {
		if a.Told == nil {
			a.Told = make(map[string]time.Time)
		}
		a.Told[target] = now
		return &a
	}
	if a.Over.IsZero() {
		// It fires again since: the target has to hear that, too.
		delete(a.Told, target)
		return &a
	}
	delete(a.Told, target)
	if len(a.Told) == 0 {
		return nil
	}
	return &a
}
