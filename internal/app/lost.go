package app

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sidecar/internal/pulse"
	"sidecar/queue"
)

const (
	// lostLeast is how many jobs of a topic must be gone to be told of.
	lostLeast = 10

	// lostMost bounds the topics that are told of at once.
	lostMost = 20

	// lostLines bounds what is read of the audit trail to explain what is gone.
	lostLines = 200
)

// lostLook is what a lostWatch goes by: a count of all topics, and what was asked for behind it.
type lostLook struct {
	where   string // which Redis: after a reload it may be another one
	run     string // which of its lives; "" where it does not say
	kept    pulse.Kept
	counted map[string]queue.DepthsRead

	// byHand returns how many jobs of each topic people have replayed, dropped or requeued since then.
	byHand func(since queue.ServerTime) map[string]int64
}

// lostWatch sees when Redis has far fewer jobs than it had, behind a restart or since it was emptied. It is for one goroutine.
type lostWatch struct {
	where  string
	run    string // which of Redis's lives it was at the last look
	before map[string]queue.Depths
	again  bool // the life is new, and the count may have been of the old one

	kept       pulse.Kept              // as of the last look
	last       map[string]queue.Depths // counted then
	proven     map[string]queue.Depths // counted before a heartbeat that found Redis as it was
	emptyAgain bool                    // as again
}

// look compares a count with the last one of before Redis changed, if it has. It returns what is gone.
func (l *lostWatch) look(seen lostLook) (gone []queue.Incident) {
	if l.where != seen.where {
		*l = lostWatch{where: seen.where, kept: seen.kept}
	}
	now := make(map[string]queue.Depths, len(seen.counted))
	for name, r := range seen.counted {
		if r.Err != nil {
			return nil // Redis is not back yet, or the topic's keys are none: next time
		}
		now[name] = r.Depths
	}
	gone = l.lookForRestart(seen, now)
	emptied := l.lookForEmptied(seen, now)
	if l.last = now; len(gone) > 0 {
		l.proven, l.emptyAgain = nil, false // it is told of
		return gone
	}
	if len(emptied) > 0 {
		l.before, l.again = now, false
	}
	return emptied
}

// lookForRestart goes by the id of Redis's life. While that is not said nothing is known of it.
func (l *lostWatch) lookForRestart(seen lostLook, now map[string]queue.Depths) (gone []queue.Incident) {
	if seen.run == "" {
		return nil
	}
	restarted := l.run != "" && seen.run != l.run
	if restarted || l.again {
		gone = explained(l.before, now, seen.byHand)
	}
	l.again = restarted && len(gone) == 0
	if l.run = seen.run; !l.again {
		l.before = now
	}
	return gone
}

// lookForEmptied goes by what heartbeats find. Such a count as was made between a FLUSHALL and the next heartbeat tells
// nothing: so the last one is compared behind which a heartbeat has found all as it was.
func (l *lostWatch) lookForEmptied(seen lostLook, now map[string]queue.Depths) (gone []queue.Incident) {
	emptied := seen.kept.Emptied > l.kept.Emptied
	if emptied || l.emptyAgain {
		gone = explained(l.proven, now, seen.byHand)
		for i := range gone {
			gone[i].Detail = queue.Emptied
		}
	}
	switch {
	case emptied && len(gone) == 0:
		l.emptyAgain = true
	case emptied || l.emptyAgain:
		l.proven, l.emptyAgain = nil, false
	case seen.kept.Beats > l.kept.Beats:
		l.proven = l.last
	}
	l.kept = seen.kept
	return gone
}

// explained is goneOf without what people have moved themselves.
func explained(before, now map[string]queue.Depths, byHand func(queue.ServerTime) map[string]int64) []queue.Incident {
	gone := goneOf(before, now, nil)
	if len(gone) == 0 {
		return nil
	}
	since := queue.ServerTime(0)
	for _, d := range before {
		since = max(since, d.Now)
	}
	return goneOf(before, now, byHand(since))
}

// goneOf returns what is gone from before to now, but for so many jobs of each topic as people have moved. Jobs that are due may have run since;
// those that are not due, and dead ones, cannot all have. Where such are gone, so are the others.
func goneOf(before, now map[string]queue.Depths, byHand map[string]int64) (gone []queue.Incident) {
	certain := false
	for name, was := range before {
		is, counted := now[name]
		if had, has := jobsOf(was)-byHand[name], jobsOf(is); counted && had-has >= lostLeast && has < had/2 {
			gone = append(gone, queue.Incident{Kind: queue.IncidentLost, Topic: name, Count: had - has, Of: had})
			still := was.Pool - was.Due + was.Dead - byHand[name]
			certain = certain || still >= lostLeast && is.Pool-is.Due+is.Dead < still/2
		}
	}
	if !certain {
		return nil
	}
	slices.SortFunc(gone, func(a, b queue.Incident) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Topic, b.Topic))
	})
	return gone[:min(len(gone), lostMost)]
}

func jobsOf(d queue.Depths) int64 { return d.Pool + d.Ready + d.Running + d.Dead }

// lookForLost compares a count with the one before.
func (a *app) lookForLost(ctx context.Context, g *generation, watch *lostWatch, round depthsRound) {
	a.tellLost(ctx, watch.look(lostLook{
		where: g.cfg.Redis.KeyPrefix + " " + queue.HomeOf(g.cfg.Redis, a.host).String(), run: round.memory.run, kept: a.pulse.Kept(), counted: round.topics,
		byHand: func(since queue.ServerTime) map[string]int64 { return movedByHand(ctx, g.audit(), since) },
	}))
}

// movedByHand counts what the audit trail says of each topic since then. Where it says nothing, nothing is explained.
func movedByHand(ctx context.Context, audit queue.Audit, since queue.ServerTime) map[string]int64 {
	ctx, cancel := context.WithTimeout(ctx, depthsPatience)
	defer cancel()
	lines, _ := audit.Recent(ctx, lostLines)
	moved, known := make(map[string]int64), make(map[string]bool)
	for _, line := range lines { // the newest first: one that moved fewer than it began with has a second line, with how many
		switch line.Verb {
		case queue.VerbReplay, queue.VerbDrop, queue.VerbRequeue:
			if !line.At.Before(since.In(time.UTC)) && (line.File == "" || !known[line.File]) {
				moved[line.Topic] += int64(line.Count)
				known[line.File] = true
			}
		}
	}
	return moved
}

// tellLost says in the log what is gone, once, and keeps it for the heartbeats.
func (a *app) tellLost(ctx context.Context, gone []queue.Incident) {
	if len(gone) == 0 {
		return
	}
	lost := int64(0)
	var topics []string
	for _, i := range gone {
		lost += i.Count
		topics = append(topics, i.Topic)
		a.incidents.Note(i)
	}
	if gone[0].Detail == queue.Emptied {
		a.log.ErrorContext(ctx, "redis was emptied, or got older data: jobs that it had are gone", "jobs", lost, "topics", topics)
		return
	}
	a.log.ErrorContext(ctx, "redis came back from a restart without jobs that it had", "jobs", lost, "topics", topics)
}
