package cli

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/internal/stage"
	"sidecar/queue"
)

// situation is what there is to know about a job beside the job.
type situation struct {
	cfg       *config.Config
	topic     config.Topic
	pause     *queue.Pause // nil: the topic is not paused
	unheld    error        // why that is not known
	consumers consumers
	flows     func() map[string]flow // of the last full minute, by topic; it asks Redis when it is called first
}

// surroundings is what there is to know of all topics beside their jobs.
type surroundings struct {
	cfg       *config.Config
	pauses    map[string]queue.Pause
	unheld    error // why they are not known
	consumers consumers
	flows     func() map[string]flow // see situation
}

func lookAround(ctx context.Context, cfg *config.Config, rdb redis.UniversalClient) surroundings {
	pauses, _, err := queue.NewPauses(rdb, cfg.Redis.KeyPrefix).All(ctx)
	if queue.FaultOf(err) == queue.NoPerm {
		err = nil // what is found tells the rest
	}
	flows := sync.OnceValue(func() map[string]flow { return newFlows(cfg, rdb).look(ctx) })
	return surroundings{cfg, pauses, err, consumersOf(ctx, rdb, cfg.Redis.KeyPrefix), flows}
}

func (s surroundings) of(t config.Topic) situation {
	where := situation{cfg: s.cfg, topic: t, unheld: s.unheld, consumers: s.consumers, flows: s.flows}
	if p, paused := s.pauses[t.Name]; paused {
		where.pause = &p
	}
	return where
}

// meaning says why the job is where it is.
func (s situation) meaning(e queue.Entry, now queue.ServerTime) string {
	at, length := stageOf(e, now)
	switch at {
	case stage.Never:
		return "is never due: its score is " + e.Score
	case stage.Beyond:
		return fmt.Sprintf("waits until %s, which nobody will see: sidecar doctor %s tells whether score_unit is the producers'", s.at(e.Due), s.topic.Name)
	case stage.Retry:
		return "waits for its retry until " + s.at(e.Due) + in(length) + s.heldThen(e, now)
	case stage.NotDue:
		return "waits until " + s.at(e.Due) + in(length) + s.heldThen(e, now)
	case stage.Due:
		if e.Due <= 1 {
			return "is due at once" + s.blocked(now)
		}
		return fmt.Sprintf("has been due for %s", rounded(length)) + s.blocked(now)
	case stage.Ready:
		return s.inReady(e, now)
	case stage.Runs:
		return s.running(e, now, length)
	case stage.Lost:
		return fmt.Sprintf("was running: its lease ended %s ago, so whoever ran it died; a sidecar that consumes the topic takes it back", rounded(length))
	case stage.Dead:
		return s.inDead(e)
	}
	return ""
}

// stageOf is the stage of e at now; 0: nobody knows when that is.
func stageOf(e queue.Entry, now queue.ServerTime) (stage.Stage, time.Duration) {
	at := func(t queue.ServerTime) time.Time {
		if t <= 1 {
			return time.Time{}
		}
		return t.In(time.UTC)
	}
	return stage.Of(stage.Job{
		Place: string(e.Place), Never: e.IsNever(), Due: at(e.Due), Tried: e.Tries > 0 || e.Crashes > 0, Lease: at(e.Lease),
	}, at(now))
}

// in says how long it is until a moment, where that is known.
func in(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", in " + rounded(d).String()
}

func (s situation) inReady(e queue.Entry, now queue.ServerTime) string {
	ahead := s.topic.Queue.Ahead(e)
	if ahead < 0 {
		return "is ready" + s.blocked(now)
	}
	return fmt.Sprintf("is ready, with %d ahead of it", ahead) + s.pace(ahead) + s.blocked(now)
}

// pace says how long those ahead take, were they done as fast as the last minute's; "" where nobody knows, and of lists, of
// which only the job's own shard is ahead of it.
func (s situation) pace(ahead int64) string {
	if ahead == 0 || s.topic.Queue.List != nil {
		return ""
	}
	perMinute := s.flows()[s.topic.Name].out
	if perMinute == 0 {
		return ""
	}
	takes := time.Duration(ahead) * time.Minute / time.Duration(perMinute)
	return fmt.Sprintf(" (at the last minute's pace about %s)", rounded(takes))
}

// blocked says what keeps a job that may run from running, as far as Redis, the configuration and the sidecars tell.
func (s situation) blocked(now queue.ServerTime) string {
	holds := s.topic.Queue.Holds(s.pause, now.In(s.cfg.Timezone), s.cfg.Timezone)
	switch {
	case len(holds) == 0 && s.unheld != nil:
		return fmt.Sprintf("; whether the topic is paused is not known: %v; %s", s.unheld, s.awaited())
	case len(holds) == 0:
		return "; " + s.awaited()
	}
	behind := "" // what is to be seen to as well
	if what, everywhere := s.consumers.keep(s.topic); everywhere {
		behind = "; " + what
	}
	return s.heldBy(holds[0]) + behind
}

// heldThen says what will still hold the topic back when the job is due, as far as that is known now.
func (s situation) heldThen(e queue.Entry, now queue.ServerTime) string {
	for _, h := range s.topic.Queue.Holds(s.pause, now.In(s.cfg.Timezone), s.cfg.Timezone) {
		if h.Until.IsZero() || h.Until.After(e.Due.In(time.UTC)) {
			return s.heldBy(h)
		}
	}
	return ""
}

// heldBy says what holds the topic back on all sidecars.
func (s situation) heldBy(h queue.Hold) string {
	until := ""
	if !h.Until.IsZero() {
		until = " until " + compat.FormatAt(h.Until, s.cfg.Timezone)
	}
	if h.Kind == queue.HoldWindow {
		return fmt.Sprintf("; the topic is paused%s by its pause_windows: %s", until, h.Reason)
	}
	return fmt.Sprintf("; the topic is paused%s by %s: sidecar resume %s", until, h.By, s.topic.Name)
}

// awaited says what a job waits for that nothing in Redis keeps from running.
func (s situation) awaited() string {
	const soon = "it runs as soon as a sidecar has a slot for it"
	switch what, everywhere := s.consumers.keep(s.topic); {
	case what == "":
		return fmt.Sprintf("%s, and sidecar doctor %s says what could keep one from it", soon, s.topic.Name)
	case everywhere:
		return what
	default:
		return soon + "; " + what
	}
}

// running is about a job whose lease ends in that time; 0: nobody knows.
func (s situation) running(e queue.Entry, now queue.ServerTime, lease time.Duration) string {
	if lease == 0 {
		return "is running"
	}
	if who := s.stranger(e, now); who != "" {
		return fmt.Sprintf("%s, which ends in %s; a sidecar takes the job then, if it is not done", who, rounded(lease))
	}
	what := fmt.Sprintf("is running%s; whoever runs it renews its lease, which ends in %s", s.sinceWhen(e, now), rounded(lease))
	if trouble := s.consumers.poolTrouble(s.topic); trouble != "" {
		what += "; " + trouble // a job in FPM's backlog has a lease, too
	}
	return what
}

// stranger says of a job that no sidecar renews who has it; "" where one may.
func (s situation) stranger(e queue.Entry, now queue.ServerTime) string {
	_, found := s.consumers.run(s.topic.Name, e.UUID)
	switch old := s.topic.Queue.List == nil && queue.IsOldClaim(e.Score); {
	case found:
		return ""
	case old && s.consumers.known && queue.KnownByLeases(s.consumers.beats, s.topic.Name, now.In(time.UTC)):
		return "is running: an old consumer holds it and does not renew its lease"
	case s.leases(now).Unrenewed(e, now):
		return fmt.Sprintf("was claimed %s ago by a sidecar that is gone or cannot reach Redis: nobody renews its lease", s.claimed(e, now))
	}
	return ""
}

// leases are those under which the topic's jobs may have been claimed.
func (s situation) leases(now queue.ServerTime) queue.Leases {
	return queue.LeasesOf(s.consumers.beats, s.topic.Name, s.topic.Queue.Lease, now.In(time.UTC))
}

// claimed says how long ago e was claimed; "" where that is not known.
func (s situation) claimed(e queue.Entry, now queue.ServerTime) string {
	first, last := s.leases(now).Claimed(e)
	switch {
	case first == 0 || first > now:
		return ""
	case first == last || last > now:
		return rounded(now.Sub(first)).String()
	}
	return fmt.Sprintf("between %s and %s", rounded(now.Sub(last)), rounded(now.Sub(first)))
}

// sinceWhen says since when a job runs, as far as its sidecar or its lease tells.
func (s situation) sinceWhen(e queue.Entry, now queue.ServerTime) string {
	run, found := s.consumers.run(s.topic.Name, e.UUID)
	switch {
	case found:
		since := compat.FormatAt(run.since, s.cfg.Timezone)
		what := fmt.Sprintf(" since %s, for %s, on %s", since, rounded(now.In(time.UTC).Sub(run.since)), cell(run.host))
		if run.PID > 0 {
			what += fmt.Sprintf(" in PHP's process %d", run.PID)
		}
		return what
	case s.claimed(e, now) != "":
		return fmt.Sprintf(", claimed %s ago", s.claimed(e, now))
	}
	return ", since when no sidecar tells"
}

func (s situation) inDead(e queue.Entry) string {
	switch {
	case !e.Reason && s.topic.Queue.List != nil:
		return fmt.Sprintf("is dead, nobody wrote down why: sidecar dead replay %s --uuid %s", s.topic.Name, e.Name())
	case !e.Reason:
		return fmt.Sprintf("lies in dead and is no dead record, so that it cannot run: sidecar dead drop %s --uuid %s", s.topic.Name, e.Name())
	case !e.Readable:
		return fmt.Sprintf("%s; it is no job and cannot run: sidecar dead drop %s --uuid %s", died(e), s.topic.Name, e.Name())
	}
	return fmt.Sprintf("%s: sidecar dead replay %s --uuid %s", died(e), s.topic.Name, e.Name())
}

// died says since when and why e is dead. Records that others wrote may lack one or the other.
func died(e queue.Entry) string {
	return fmt.Sprintf("is dead since %s because %s", cmp.Or(e.At, "a time that is not known"), cell(cmp.Or(e.Error, "of what nobody wrote down")))
}

// rounded is a duration as people say it.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Second)
}
