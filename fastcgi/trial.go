package fastcgi

import (
	"context"
	"time"
)

const (
	// trialEvery bounds the backoff between two trials.
	trialEvery = time.Minute

	// changeEvery is how often a topic that waits for its next trial looks whether its files have changed.
	changeEvery = 500 * time.Millisecond

	// longTrial is when a trial that still runs has told enough: a handler that is missing is found out at once.
	longTrial = 5 * time.Second
)

// doubt is that a run was refused although no check can see why, such as a class that is not there. Checks do not
// open the gate then. They let one job through, and the gate opens when that one has run: until then it stays shut,
// for the one reason, and nobody is told that all is well in between.
type doubt struct {
	files stamp  // as they were then
	seen  bool   // whether they could be seen
	of    *route // the route that is in doubt; nil: the topic
	since time.Time
}

// settledBy reports that a run of what to says has shown that the doubt is past. One of another route shows nothing,
// unless there was none to refuse for long: the topic does not creep for jobs that do not come.
func (d *doubt) settledBy(to *route, now time.Time) bool {
	return d == nil || d.of == nil || d.of == to || now.Sub(d.since) > trialEvery
}

// doubts shuts the gate, since the bridge could not run a job of that route.
func (t *Topic) doubts(reason error, of *route) {
	d := doubt{of: of, since: time.Now()}
	d.files, d.seen = codeOf(t.pool.opts.Chroot, t.files)
	t.shutFor(reason, &d)
}

// changed reports that the topic's files are not what they were, as far as they can be seen.
func (t *Topic) changed(d doubt) bool {
	files, seen := codeOf(t.pool.opts.Chroot, t.files)
	return seen && (!d.seen || files != d.files)
}

// admit opens the gate after a check that found nothing wrong, or lets one job through where that proves nothing.
func (t *Topic) admit() {
	p := t.pool
	p.mu.Lock()
	d := t.gate.doubt
	p.mu.Unlock()
	if d == nil || !d.seen && t.changed(*d) {
		t.open()
		return
	}
	p.mu.Lock()
	t.gate.trial = !t.gate.open()
	p.grant()
	p.mu.Unlock()
	t.nudge()
}

// onTrial reports that one job may run although the gate is shut.
func (t *Topic) onTrial() bool {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.gate.trial
}

// pauseForCheck waits out the backoff before the next check. A changed file ends it, and so does recheck.
func (t *Topic) pauseForCheck(ctx context.Context) bool {
	p := t.pool
	p.mu.Lock()
	d := t.gate.doubt
	p.mu.Unlock()
	if d == nil {
		return p.pause(ctx, &t.gate, topicProbeEvery)
	}
	over, look := time.NewTimer(p.nextPause(&t.gate, trialEvery)), time.NewTicker(changeEvery)
	defer over.Stop()
	defer look.Stop()
	for {
		select {
		case <-over.C:
			return true
		case <-ctx.Done():
			return false
		case <-t.again:
		case <-look.C:
			if p.shutReason() == nil && t.listed() && !t.changed(*d) {
				continue
			}
		}
		p.mu.Lock()
		t.gate.faults = 1
		p.mu.Unlock()
		return true
	}
}

// recheck has a gate that is shut looked at now.
func (t *Topic) recheck() {
	select {
	case t.again <- struct{}{}:
	default: // it has been told
	}
}

// endLongTrials opens the gates of topics whose trial goes on and on: no other job is to wait for its end.
func (p *Pool) endLongTrials() {
	var list []*Topic
	p.mu.Lock()
	for _, t := range p.topics {
		if t.gate.trial && t.used > 0 && len(p.unheard) == 0 && time.Since(t.granted) > longTrial {
			list = append(list, t)
		}
	}
	p.mu.Unlock()
	for _, t := range list {
		t.open()
	}
}
