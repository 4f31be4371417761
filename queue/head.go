package queue

import (
	"slices"
	"sync"
	"time"
)

// Head is what a sidecar knows of the head of a topic's ready, whose texts have no times (docs/decisions/0030). Its JSON
// names are a promise.
type Head struct {
	Due  time.Time `json:"due"`           // nothing in ready was due before, as far as it knows
	Seen time.Time `json:"seen,omitzero"` // when it saw that; zero: never yet, and Due is when it began to look
}

// headsCount is for how long what a sidecar knew counts that is gone: until its successor has seen something itself.
const headsCount = time.Hour

// ReadyAge estimates for how long the job at the head of a topic's ready has been due, by the sidecar that saw something of
// it last: 0 where none lives that tells of it. It is not to be asked where ready is empty.
func ReadyAge(beats []Heartbeat, topic string, now time.Time) time.Duration {
	var last Head
	var age time.Duration
	lives := false
	for _, b := range beats {
		h, told := b.Heads[topic]
		if !told || now.Sub(b.At) > headsCount {
			continue
		}
		at := now
		if b.Lives(now) { // what it has seen since then it will tell with its next heartbeat
			at, lives = b.At, true
		}
		if last.Due.IsZero() || h.newer(last) {
			last, age = h, at.Sub(h.Due)
		}
	}
	if !lives {
		return 0
	}
	return max(0, age)
}

// newer reports that h tells more than other: it was seen later, or has been looked for longer.
func (h Head) newer(other Head) bool {
	if h.Seen.IsZero() && other.Seen.IsZero() {
		return h.Due.Before(other.Due)
	}
	return h.Seen.After(other.Seen)
}

// WithHead returns d with the age of ready's head in OldestDueAge, as the sidecars tell it. That of a list stays, whose texts
// tell it themselves.
func (d Depths) WithHead(beats []Heartbeat, topic string) Depths {
	if d.Ready > 0 && d.Shards == nil {
		d.OldestDueAge = max(d.OldestDueAge, ReadyAge(beats, topic, d.Now.In(time.UTC)))
	}
	return d
}

// readyHead is what this process knows of it: the due time of what it claimed last, or when ready was last empty. It outlives
// reloads.
type readyHead struct {
	times *dueTimes

	mu    sync.Mutex // guards what follows
	since ServerTime // when this process began to look
	due   ServerTime
	seen  ServerTime // 0: nothing yet
}

func newReadyHead() *readyHead { return &readyHead{times: newDueTimes()} }

// claimed notes what was claimed: behind a text none is that was due before it, and a claim that got less than it asked for
// has left nothing.
func (r *readyHead) claimed(claims Claims, list []*held) {
	if !claims.More {
		r.empty(claims.Now)
		return
	}
	for _, h := range slices.Backward(list) {
		if !h.due.IsZero() {
			r.saw(claims.Now, h.due)
			return
		}
	}
}

// counted notes how long ready was.
func (r *readyHead) counted(d Depths) {
	if d.Ready == 0 {
		r.empty(d.Now)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(d.Now)
}

// empty notes that ready was empty at now; 0: a claim that failed.
func (r *readyHead) empty(now ServerTime) {
	if !now.IsZero() {
		r.times.passAll()
		r.saw(now, now)
	}
}

// headStep is how far back a clock may go that was not set: replies are read out of their order.
const headStep = ServerTime(time.Minute / time.Microsecond)

// saw notes that nothing in ready was due before due, as it was at now.
func (r *readyHead) saw(now, due ServerTime) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now < r.seen && r.seen-now < headStep {
		return
	}
	r.beginLocked(now)
	r.due, r.seen = min(due, now), now
}

func (r *readyHead) beginLocked(now ServerTime) {
	if r.since.IsZero() {
		r.since = now
	}
}

// head returns what is known; false while Redis has told nothing.
func (r *readyHead) head() (Head, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	moment := func(t ServerTime) time.Time { return t.In(time.UTC).Truncate(time.Millisecond) }
	switch {
	case !r.seen.IsZero():
		return Head{Due: moment(r.due), Seen: moment(r.seen)}, true
	case !r.since.IsZero():
		return Head{Due: moment(r.since)}, true
	}
	return Head{}, false
}

// beat is what a heartbeat would tell of it now.
func (r *readyHead) beat(topic string, now ServerTime) Heartbeat {
	b := Heartbeat{At: now.In(time.UTC)}
	if head, known := r.head(); known {
		b.Heads = map[string]Head{topic: head}
	}
	return b
}
