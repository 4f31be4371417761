package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidecar/internal/plural"
	"sidecar/internal/shell"
	"sidecar/internal/stage"
	"sidecar/queue"
)

// checkKeys is about one topic's keys.
func checkKeys(all *findings, f Facts, t TopicKeys) {
	where := "topic " + t.Topic.Name
	if t.RightsErr != nil {
		all.say("key-rights", where, "%v", t.RightsErr)
	}
	for _, k := range t.Looks {
		checkKey(all, where, k)
		checkTexts(all, where, k)
		checkBuried(all, where, t.Topic.Name, k)
	}
	checkUnit(all, where, t)
	checkClaims(all, f, where, t)
	if t.Overdue > 0 {
		all.say("claims-overdue", where, "%s in running whose lease ended more than %s ago", plural.Of(t.Overdue, "claim is", "claims are"), overdueFor).as(ifNobody(f, t))
	}
	if age := t.Depths.WithHead(f.Redis.Sidecars, t.Topic.Name).OldestDueAge; age >= lateLeast && !isMeantToWait(f, t) {
		busy, do := allBusy(f, t)
		found := all.say("jobs-late", where, "%s due or ready, the oldest since %s%s", plural.Of(t.Depths.Due+t.Depths.Ready, "job is", "jobs are"), age.Round(time.Second), busy).as(ifNobody(f, t))
		if do != "" {
			found.do("%s", do)
		}
	}
	checkElsewhere(all, f, where, t)
	checkShards(all, where, t)
	checkDead(all, where, t, f.Config.Timezone)
	checkCutShort(all, f, where, t)
}

// allBusy says that all workers of a topic have a job, and what to do then; "" where one is free, something else keeps the topic, or nobody knows.
func allBusy(f Facts, t TopicKeys) (busy, do string) {
	if _, paused := f.Redis.Pauses[t.Topic.Name]; paused {
		return "", ""
	}
	sidecars := 0
	for _, b := range queue.Living(f.Redis.Sidecars, f.Redis.Now) {
		keeps := func(reason string) bool { return queue.ReasonFor(t.Topic.Name, t.Topic.Pool, reason) != "" }
		if slices.ContainsFunc(b.Holds, func(h queue.HeldTopic) bool { return h.Topic == t.Topic.Name }) || slices.ContainsFunc(b.Reasons, keeps) {
			return "", ""
		}
		if b.Serves(t.Topic.Name, f.Redis.Now) {
			sidecars++
		}
	}
	workers := t.Topic.Queue.Workers
	if !stage.AllBusy(workers*sidecars, t.Depths.Running, t.Depths.Due+t.Depths.Ready) {
		return "", ""
	}
	return fmt.Sprintf("; all workers are busy: workers = %d on %s", workers, plural.Of(sidecars, "sidecar", "sidecars")),
		fmt.Sprintf("raise workers of the topic, and children of fpm pool %q where its slots are all in use", t.Topic.Pool)
}

// ifNobody is a fault where no sidecar lives that has the topic: nobody will see to its jobs. Else somebody is late with them.
func ifNobody(f Facts, t TopicKeys) Level {
	has := func(b queue.Heartbeat) bool { return b.Has(t.Topic.Name) }
	if f.Redis.unheard() || slices.ContainsFunc(queue.Living(f.Redis.Sidecars, f.Redis.Now), has) {
		return Warning
	}
	return Fault
}

// checkElsewhere is about keys of the topic's names that are not where this configuration looks. (Such with another prefix, of a
// topic that has none of its own, are among the dangers.)
func checkElsewhere(all *findings, f Facts, where string, t TopicKeys) {
	own := f.Config.Redis.Resolved().DB
	for _, db := range t.OtherDBs {
		if t.used() {
			all.say("key-database", where, "besides those in database %d it has keys in database %d, where no sidecar lives", own, db).as(Note).
				do("if jobs are missing, look at the producers' database; set db = %d in a configuration of its own where jobs there are to run", db)
			continue
		}
		all.say("key-database", where, "it has no keys in database %d, but there are some in database %d", own, db).
			do("set db = %d in [redis]", db)
	}
	for _, before := range t.Prefixes {
		which := fmt.Sprintf("with %q before them", before)
		if before == "" {
			which = "without a prefix"
		}
		all.say("key-prefix", where, "besides its own keys there are such %s, and no sidecar lives there", which).as(Note).
			do("if jobs are missing, look at the producers' prefix; set key_prefix = %q in a configuration of its own where jobs there are to run", before)
	}
}

// isMeantToWait reports that somebody has paused the topic (topic-paused), or that a pause window is on.
func isMeantToWait(f Facts, t TopicKeys) bool {
	var pause *queue.Pause
	if p, paused := f.Redis.Pauses[t.Topic.Name]; paused {
		pause = &p
	}
	return !t.Now.IsZero() && len(t.Topic.Queue.Holds(pause, t.Now.In(f.Config.Timezone), f.Config.Timezone)) > 0
}

// lateLeast is how late a job has to be until that is told: far later than the dashboard calls late, for a peak that passes is
// no fault of the setting.
const lateLeast = 10 * time.Minute

func checkKey(all *findings, where string, k queue.KeyLook) {
	key := shell.Word(k.Key)
	if k.Type != "none" && k.Type != k.Want {
		all.say("key-type", where, "%s is a %s, want a %s", k.Key, k.Type, k.Want).
			do("find out who writes it; then redis-cli RENAME %s %s.wrong", key, key)
	}
	if k.TTL > 0 {
		all.say("key-ttl", where, "%s is deleted in %s", k.Key, k.TTL.Round(time.Second)).
			do("redis-cli PERSIST %s, and find out who calls EXPIRE", key)
	}
}

func checkTexts(all *findings, where string, k queue.KeyLook) {
	for _, form := range slices.Sorted(maps.Keys(k.Wrapped)) {
		all.say("text-encoded", where, "%d of %s looked at in %s came wrapped by phpredis, in form %s", k.Wrapped[form], plural.Of(k.Seen, "text", "texts"), k.Key, form)
	}
	if k.Unread > 0 {
		all.say("text-unreadable", where, "%d of %s looked at in %s cannot be read as a job: %s", k.Unread, plural.Of(k.Seen, "text", "texts"), k.Key, strings.Join(k.Faults[:min(3, len(k.Faults))], "; "))
	}
}

// checkBuried is about texts that were no jobs and are dead for it: a sidecar that runs buries them at once.
func checkBuried(all *findings, where, topic string, k queue.KeyLook) {
	if k.Buried > 0 {
		all.say("text-unreadable", where, "of %s looked at in %s %d are no jobs, and died of that: %s", plural.Of(k.Seen, "text", "texts"), k.Key, k.Buried, strings.Join(k.Faults[:min(3, len(k.Faults))], "; ")).
			as(Warning).do("find the producer that writes such; sidecar dead list %s has them", topic)
	}
}

// unitNames are the units a pool's scores may seem to be in.
var unitNames = map[string]string{"s": "seconds", "ms": "milliseconds", "us": "microseconds"}

// checkUnit looks for due times that make sense in another unit only.
func checkUnit(all *findings, where string, t TopicKeys) {
	if t.Topic.Queue.List != nil || t.Now.IsZero() {
		return // a list's pool is the sidecar's own
	}
	for _, k := range t.Looks {
		if k.Role != "pool" {
			continue
		}
		counts := map[string]int{}
		for _, score := range k.Scores {
			if unit := queue.SuspectUnit(score, t.Topic.Queue.ScoreUnit, t.Now); unit != "" {
				counts[unit]++
			}
		}
		for _, unit := range slices.Sorted(maps.Keys(counts)) {
			found := all.say("key-unit", where, "%d of %s looked at in %s would make sense in %s only; score_unit is %q",
				counts[unit], plural.Of(k.Seen, "due time", "due times"), k.Key, unitNames[unit], t.Topic.Queue.ScoreUnit)
			found.do("%s", unitAdvice(t, queue.ScoreUnit(unit)))
		}
	}
}

// unitAdvice says what to do about scores in that unit, those that wait already among them. In a shorter one than the topic's they wait; in a longer
// one they have been due at once.
func unitAdvice(t TopicKeys, unit queue.ScoreUnit) string {
	do := fmt.Sprintf("score_unit = %q, if all producers write so", unit)
	switch unit {
	case queue.Seconds:
		return do
	case queue.Microseconds:
		do = "let the producer write milliseconds: microseconds are no score_unit"
	case queue.Milliseconds:
		do += ", else mend them"
	}
	return fmt.Sprintf("%s; sidecar requeue %s --scores-in %s --limit 0 has those that wait be due when they were meant to be", do, t.Topic.Name, unit)
}

func checkShards(all *findings, where string, t TopicKeys) {
	if len(t.Left) == 0 {
		return
	}
	var names []string
	jobs := int64(0)
	for _, s := range t.Left {
		names = append(names, s.Key)
		jobs += s.Jobs
	}
	more := ""
	if len(names) > 5 {
		names, more = names[:5], fmt.Sprintf(" and %d more", len(names)-5)
	}
	all.say("shards-left", where, "%s in %s%s, and shards is %d", plural.Of(jobs, "job is", "jobs are"), strings.Join(names, ", "), more, t.Topic.Queue.List.Shards)
}

// diedLeast and diedWithin are how many jobs must have died within how long until that is told.
const (
	diedLeast  = 10
	diedWithin = time.Hour
)

// checkDead counts the jobs that died lately, among the newest ones.
func checkDead(all *findings, where string, t TopicKeys, zone *time.Location) {
	if t.Now.IsZero() {
		return
	}
	now, lately, seen := t.Now.In(zone), 0, 0
	for _, k := range t.Looks {
		for _, died := range k.Died {
			at, err := time.ParseInLocation(time.DateTime, died, zone)
			if seen++; err == nil && now.Sub(at) < diedWithin {
				lately++
			}
		}
	}
	if lately >= diedLeast {
		all.say("dead-growing", where, "%d of %s looked at died within %s", lately, plural.Of(seen, "dead job", "dead jobs"), diedWithin).
			do("sidecar dead list %s --by error counts why; mend it, then sidecar dead replay %s --limit 0 --rate 50/s, which --like ERROR narrows down to one cause", t.Topic.Name, t.Topic.Name)
	}
}
