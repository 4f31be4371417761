package fastcgi

import (
	"net"
	"sync"
	"time"
)

// resident is one worker that stays: a long FPM request whose bridge has called back, and serves job after job.
type resident struct {
	crew  *crew
	token nonce
	born  time.Time
	epoch int           // of the code it runs
	calls chan callback // room for the one
	halts chan reason   // room for each kind

	writes sync.Mutex // of whoever writes frames, to conn
	out    []byte     // guarded by writes

	// Guarded by crew.mu.
	conn        net.Conn // set before it is ready
	pid         int      // likewise
	ready       bool
	greeted     time.Time
	leaving     reason    // it gets no more jobs
	told        time.Time // when it was asked to leave, or said that it does
	halted      reason    // why it is stopped, whatever it does
	late        bool      // it took longer than the timeout
	inHand      []*errand // sent, or about to be; the first runs
	ahead       int       // bytes of their texts
	unsent      []outgoing
	writing     bool // somebody is about to write what is unsent
	nextToFlush *resident
	given       int       // jobs it got
	served      int       // jobs it answered
	last        *route    // of the last of them
	since       time.Time // it began with the first in hand, or became idle
	heard       time.Time // when it last said anything
	pinged      time.Time // and has not answered; else zero
	memory      int64     // PHP's, after the last job
	grewFrom    int64     // PHP's, before the first
	proved      []bool    // the routes of which it has run a job, by their numbers

	targets []string // what each route's jobs are told of their code; set before it is ready

	life life // of the goroutine that follows it
}

func newResident(c *crew, now time.Time) *resident {
	return &resident{
		crew: c, token: newNonce(), born: now, epoch: c.epoch, since: now, heard: now,
		calls: make(chan callback, 1), halts: make(chan reason, len(reasons())),
		proved: make([]bool, len(c.topic.routes.list)),
	}
}

// state is what it does. crew.mu is held, as in all below.
func (r *resident) state() workerState {
	switch {
	case r.leaving != "":
		return leaving
	case !r.ready:
		return starting
	case len(r.inHand) > 0:
		return busy
	}
	return idle
}

// takes reports that it may get e.
func (r *resident) takes(e *errand) bool {
	return r.ready && r.leaving == "" && r.epoch == r.crew.epoch && r.pinged.IsZero() &&
		r.given < r.crew.topic.opts.MaxJobs && (len(r.inHand) == 0 || r.takesBehind(e))
}

// takesBehind reports that e may lie behind what it has in hand. It is filled up when half of that is answered, as a
// write, and a wake-up of PHP, for each job would cost more than a tiny one. Nothing lies behind a job that is not
// quick, so that the last in hand speaks for all.
func (r *resident) takesBehind(e *errand) bool {
	have := len(r.inHand)
	most := r.crew.inSocket(r.inHand[have-1].route)
	return have < most && (have <= most/2 || len(r.unsent) > 0) && r.ahead+len(e.job.Raw()) <= aheadBytes
}

// give puts e behind what it has in hand. Whoever calls it sees that the frame is written.
func (r *resident) give(e *errand, now time.Time) {
	r.given++
	e.id, e.by, e.sent, e.alone, e.unsent = uint32(r.given), r, now, len(r.inHand) == 0, false //nolint:gosec // max_jobs bounds it
	if e.alone {
		r.since = now
		r.crew.wakeBy(now.Add(e.route.timeout))
	}
	r.inHand = append(r.inHand, e)
	r.ahead += len(e.job.Raw())
	r.unsent = append(r.unsent, outgoing{jobFrame, e})
}

// halt has its goroutine end it, whatever it does.
func (r *resident) halt(why reason) {
	if r.halted == why || r.halted == byStop {
		return
	}
	r.halted = why
	if r.leaving == "" {
		r.leaving = why
	}
	select {
	case r.halts <- why:
	default: // it has been told often enough
	}
}

// look does what is due and returns when to look again.
func (r *resident) look(now time.Time) time.Duration {
	r.outdate(now)
	switch {
	case !r.ready && r.greeted.IsZero(): // it waits for a child, for as long as it takes
		if r.crew.drained {
			r.halt(byStop)
		}
		return crewLooksEvery
	case !r.ready:
		return r.lookAtTimeout(now, r.greeted, r.crew.topic.opts.Timeout)
	case len(r.inHand) > 0:
		return r.lookAtTimeout(now, r.since, r.inHand[0].route.timeout)
	case r.leaving != "":
		return r.tell(now)
	case !r.pinged.IsZero():
		return r.lookAtPing(now)
	}
	return r.lookAtIdleness(now)
}

// outdate lets it go if it must be replaced. Before it serves that has time.
func (r *resident) outdate(now time.Time) {
	c := r.crew
	if r.leaving != "" || !r.ready {
		return
	}
	switch o := c.topic.opts; {
	case c.drained:
		r.leaving = byDrain
	case r.epoch != c.epoch:
		r.leaving = c.outdated
	case r.served >= o.MaxJobs:
		r.leaving = byMaxJobs
	case o.MaxMemory > 0 && r.memory > o.MaxMemory && r.served > 0: // else it would be replaced for ever, without a job
		r.leaving = byMaxMemory
	case now.Sub(r.born) >= o.MaxAge:
		r.leaving = byMaxAge
	}
}

// lookAtTimeout stops it when what began at that time takes longer than timeout.
func (r *resident) lookAtTimeout(now, began time.Time, timeout time.Duration) time.Duration {
	if left := timeout - now.Sub(began); left > 0 {
		return left
	}
	r.late = true
	r.halt(byTimeout)
	return crewLooksEvery
}

// tell asks it to leave, once it has nothing in hand, and makes it when it does not.
func (r *resident) tell(now time.Time) time.Duration {
	if r.told.IsZero() {
		r.told = now
		r.unsent = append(r.unsent, outgoing{kind: endFrame})
	}
	if left := leavePatience - now.Sub(r.told); left > 0 {
		return left
	}
	r.halt(r.leaving)
	return crewLooksEvery
}

func (r *resident) lookAtPing(now time.Time) time.Duration {
	if left := pongPatience - now.Sub(r.pinged); left > 0 {
		return left
	}
	r.told = now
	r.halt(bySilence)
	return leavePatience
}

func (r *resident) lookAtIdleness(now time.Time) time.Duration {
	c, o := r.crew, r.crew.topic.opts
	if now.Sub(r.since) >= o.IdleTimeout && c.staying() > o.MinWorkers {
		r.leaving = byIdle
		return r.tell(now)
	}
	if now.Sub(r.heard) >= crewLooksEvery {
		r.pinged = now
		r.unsent = append(r.unsent, outgoing{kind: pingFrame})
		return pongPatience
	}
	next := min(crewLooksEvery-now.Sub(r.heard), max(o.MaxAge-now.Sub(r.born), 0))
	if left := patience - now.Sub(r.since); left > 0 { // from then on others may have its slot
		next = min(next, left)
	}
	if left := o.IdleTimeout - now.Sub(r.since); left > 0 {
		next = min(next, left)
	}
	return next
}

// staying is how many workers are not about to leave. mu is held.
func (c *crew) staying() int {
	n := 0
	for _, r := range c.residents {
		if r.leaving == "" {
			n++
		}
	}
	return n
}
