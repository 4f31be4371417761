package fastcgi

import (
	"cmp"
	"slices"
	"time"
)

// Running is one job that this process has running.
type Running struct {
	UUID string        // as [compat.Job.PlainUUID] has it
	PID  int           // of FPM's child; 0 where its code has not begun, or nothing tells (raw mode)
	For  time.Duration // since when: the hello, in raw mode and before it the request
}

// Runs returns the jobs of the topic that this process has running, the longest first. It asks nobody, and costs those that run
// nothing: it is for people who look.
func (t *Topic) Runs() []Running {
	var list []Running
	if t.crew != nil {
		list = t.crew.runs(time.Now())
	} else {
		list = t.pool.reports.runsOf(t)
	}
	slices.SortFunc(list, func(a, b Running) int { return cmp.Compare(b.For, a.For) })
	return list
}

// runsOf returns the runs of mode request.
func (s *reports) runsOf(t *Topic) (list []Running) {
	s.mu.Lock()
	var runs []*run
	for _, r := range s.runs {
		if r.topic == t {
			runs = append(runs, r)
		}
	}
	s.mu.Unlock()
	for _, r := range runs {
		r.mu.Lock()
		pid, since := r.pid, r.heard
		r.mu.Unlock()
		if since.IsZero() {
			since = r.sent
		}
		list = append(list, Running{UUID: r.job.PlainUUID(), PID: pid, For: time.Since(since)})
	}
	return list
}

// runs returns what the workers have in hand. Of each worker the first runs, the others lie behind it.
func (c *crew) runs(now time.Time) (list []Running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.residents {
		if len(r.inHand) > 0 {
			list = append(list, Running{UUID: r.inHand[0].job.PlainUUID(), PID: r.pid, For: now.Sub(r.since)})
		}
	}
	return list
}
