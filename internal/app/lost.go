package app

import (
	"cmp"
	"context"
	"slices"

	"sidecar/queue"
)

const (
	// lostLeast is how many jobs of a topic must be gone to be told of.
	lostLeast = 10

	// lostMost bounds the topics that are told of at once.
	lostMost = 20
)

// lostWatch sees when Redis comes back from a restart with far fewer jobs than it had. It is for one goroutine.
type lostWatch struct {
	run    string // which of Redis's lives it was at the last look
	before map[string]queue.Depths
	again  bool // the life is new, and the count may have been of the old one
}

// look compares a count with the last one when run, which was asked for behind it, has changed. It returns what is gone.
func (l *lostWatch) look(run string, counted map[string]queue.DepthsRead) (gone []queue.Incident) {
	if run == "" {
		return nil
	}
	now := make(map[string]queue.Depths, len(counted))
	for name, r := range counted {
		if r.Err != nil {
			return nil // Redis is not back yet, or the topic's keys are none: next time
		}
		now[name] = r.Depths
	}
	restarted := l.run != "" && run != l.run
	if restarted || l.again {
		gone = goneOf(l.before, now)
	}
	l.again = restarted && len(gone) == 0
	if l.run = run; !l.again {
		l.before = now
	}
	return gone
}

// goneOf returns what is gone from before to now. Jobs that are due may have run since; those that are not due, and dead ones, cannot
// all have. Where such are gone, so are the others.
func goneOf(before, now map[string]queue.Depths) (gone []queue.Incident) {
	certain := false
	for name, was := range before {
		is, counted := now[name]
		if had, has := jobsOf(was), jobsOf(is); counted && had-has >= lostLeast && has < had/2 {
			gone = append(gone, queue.Incident{Kind: queue.IncidentLost, Topic: name, Count: had - has, Of: had})
			still := was.Pool - was.Due + was.Dead
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
	a.log.ErrorContext(ctx, "redis came back from a restart without jobs that it had", "jobs", lost, "topics", topics)
}
