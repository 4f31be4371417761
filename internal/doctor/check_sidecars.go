package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/plural"
	"sidecar/queue"
)

// checkSidecars is about who consumes, by what the sidecars say of themselves.
func checkSidecars(all *findings, f Facts) {
	r := f.Redis
	if r.PausesErr != nil {
		key := f.Config.Redis.KeyPrefix + "sidecar:paused"
		all.say("key-type", "redis", "%v: no sidecar knows of pauses", r.PausesErr).do("find out who writes it; then redis-cli RENAME %s %s.wrong", key, key)
	}
	for _, t := range f.Topics {
		name := t.Name
		p, paused := r.Pauses[name]
		if !paused {
			continue
		}
		until := "until it is resumed"
		if !p.Until.IsZero() {
			until = "for another " + p.Until.Sub(r.Now).Round(time.Second).String()
		}
		by := "paused by " + p.By
		if p.Reason != "" {
			by += " (" + p.Reason + ")"
		}
		all.say("topic-paused", "topic "+name, "%s, %s", by, until).do("sidecar resume %s", name)
	}
	var living []queue.Heartbeat
	for _, b := range r.Sidecars {
		where := fmt.Sprintf("sidecar %s pid %d", b.Host, b.PID)
		switch {
		case r.Now.IsZero() || b.Stopped:
		case b.Unread:
			found := all.say("sidecar-unread", "sidecar "+b.Instance, "last heard of %s ago", r.Now.Sub(b.At).Round(time.Second))
			if b.Lost(r.Now) {
				found.as(Note) // it may have said goodbye
				continue
			}
			living = append(living, b)
		case b.Lost(r.Now):
			all.say("sidecar-silent", where, "last heard of %s ago", r.Now.Sub(b.At).Round(time.Second))
		default:
			living = append(living, b)
			if reasons := concerning(f.Topics, b.Reasons); len(reasons) > 0 && !b.Stopping {
				all.say("sidecar-idle", where, "%s", strings.Join(reasons, "; "))
			}
			if b.ReloadErr != "" {
				all.say("reload-refused", where, "%s", b.ReloadErr)
			}
			checkHolds(all, f, b)
		}
	}
	checkServed(all, f, living)
	checkSettings(all, f, living)
	checkIncidents(all, f)
}

// checkSettings looks whether the sidecars run a topic's jobs in one way. Of several that differ two are named.
func checkSettings(all *findings, f Facts, living []queue.Heartbeat) {
	for _, t := range f.Topics {
		if d, found := config.DifferIn(t.Name, living); found {
			where := func(b queue.Heartbeat) string { return fmt.Sprintf("%s pid %d", b.Host, b.PID) }
			all.say("sidecar-config", "topic "+t.Name, "%s and %s differ in %s", where(d.One), where(d.Other), d.Options)
		}
	}
}

// checkIncidents tells of what the sidecars met within a day and the keys tell no more.
func checkIncidents(all *findings, f Facts) {
	for _, i := range queue.IncidentsOf(f.Redis.Sidecars, f.Redis.Now) {
		if f.Redis.Now.IsZero() || !slices.ContainsFunc(f.Topics, func(t config.Topic) bool { return t.Name == i.Topic }) {
			continue
		}
		where := "topic " + i.Topic
		at := fmt.Sprintf("%s ago, at %s", f.Redis.Now.Sub(i.At).Round(time.Second), i.At.In(f.Config.Timezone).Format(time.DateTime))
		switch i.Kind {
		case queue.IncidentLost:
			how := "Redis came back from a restart without"
			if i.Detail == queue.Emptied {
				how = "Redis was emptied (FLUSHALL, FLUSHDB, older data in its place) and lost"
			}
			all.say("jobs-lost", where, "%s %d of its %s: %s", how, i.Count, plural.Of(i.Of, "job", "jobs"), at)
		case queue.IncidentUnit:
			all.say("key-unit", where, "jobs were due in %s: they run too early, too late or never; the last time %s", cmp.Or(unitNames[i.Detail], i.Detail), at).as(Warning)
		case queue.IncidentUnreadable:
			all.say("text-unreadable", where, "%s no job, and went to dead; the last one %s: %s", plural.Of(i.Count, "text was", "texts were"), at, i.Detail).
				as(Warning).do("find the producer that writes such; sidecar dead list %s has them", i.Topic)
		}
	}
}

// concerning returns the reasons that are faults and not about other topics or their pools.
func concerning(topics []config.Topic, reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(reason string) bool {
		return fastcgi.IsNotSeen(reason) || !slices.ContainsFunc(topics, func(t config.Topic) bool { return queue.ReasonFor(t.Name, t.Pool, reason) != "" })
	})
}

// checkHolds is about what one sidecar alone holds back.
func checkHolds(all *findings, f Facts, b queue.Heartbeat) {
	for _, h := range b.Holds {
		if !slices.ContainsFunc(f.Topics, func(t config.Topic) bool { return t.Name == h.Topic }) {
			continue
		}
		where, found := "topic "+h.Topic, fmt.Sprintf("on %s pid %d: %s", b.Host, b.PID, h.Reason)
		switch h.Kind {
		case queue.HoldBreaker:
			all.say("topic-breaker", where, "%s", found)
		case queue.HoldRate:
			all.say("topic-rate", where, "%s", found)
		case queue.HoldManual, queue.HoldWindow: // heartbeats do not tell of them: everybody knows
		}
	}
}

// checkServed looks whether each topic has a sidecar.
func checkServed(all *findings, f Facts, living []queue.Heartbeat) {
	var versions []string
	for _, b := range living {
		if b.Version != "" { // it cannot be read
			versions = append(versions, b.Version)
		}
	}
	slices.Sort(versions)
	if versions = slices.Compact(versions); len(versions) > 1 {
		all.say("sidecar-versions", "redis", "versions %s", strings.Join(versions, ", "))
	}
	waiting := int64(0)
	for _, t := range f.Redis.Topics {
		waiting += t.Depths.Due + t.Depths.Ready
		name := t.Topic.Name
		serves := func(b queue.Heartbeat) bool { return b.Has(name) }
		if len(living) > 0 && !slices.ContainsFunc(living, serves) {
			found := all.say("topic-unserved", "topic "+name, "%s, and none has it", plural.Of(len(living), "sidecar lives", "sidecars live"))
			if t.Depths.Due+t.Depths.Ready == 0 {
				found.as(Warning) // nothing stands still yet
			}
		}
	}
	if len(living) == 0 && len(f.Redis.Sidecars) > 0 && waiting > 0 {
		all.say("sidecar-none", "redis", "%s due or ready", plural.Of(waiting, "job is", "jobs are"))
	}
}
