package queue

import (
	"strconv"
	"sync/atomic"
	"time"
)

// serverClock tells Redis's time between two replies: the time the last reply carried plus what has passed here, by the
// monotonic clock, since that was asked for. So it is never behind: a reply that was long under way, or lay unread in a
// process that stood still, makes no lease look longer. The host's wall clock plays no part, so a host whose clock is
// wrong, or is set, moves no due time and no lease.
type serverClock struct {
	last atomic.Pointer[reading]
}

type reading struct {
	server ServerTime
	at     time.Time     // monotonic
	took   time.Duration // until the reply was there: so much earlier it may be than now says
}

// set notes that Redis's clock showed server in a reply to what was sent at the moment asked.
func (c *serverClock) set(server ServerTime, asked time.Time) {
	if !server.IsZero() {
		c.last.Store(&reading{server: server, at: asked, took: time.Since(asked)})
	}
}

// now returns Redis's time, or 0 before the first reply.
func (c *serverClock) now() ServerTime {
	last := c.last.Load()
	if last == nil {
		return 0
	}
	return last.server.Add(time.Since(last.at))
}

// earliest returns what Redis's time is at least, or 0 before the first reply.
func (c *serverClock) earliest() ServerTime {
	last := c.last.Load()
	if last == nil {
		return 0
	}
	return last.server.Add(time.Since(last.at) - last.took)
}

// leaseAt returns the lease that ends at t. Whole milliseconds print the same in every Redis version.
func leaseAt(t ServerTime) Lease {
	return Lease(strconv.FormatInt(int64(t)/1000, 10))
}

// leaseStep is how far apart in ms the leases of one claim call are (lua/claim.lua): a power of two that adds up
// exactly until the year 2109, and so small that the call takes longer than what it hands out.
const leaseStep = 1.0 / 2048

// leaseOf returns the lease with that score.
func leaseOf(score float64) Lease {
	return Lease(strconv.FormatFloat(score, 'g', 17, 64))
}

// leaseEnd reads when a lease ends. Only estimates and log lines may depend on it: whether a lease
// is ours is decided by its text.
func leaseEnd(l Lease) (ServerTime, bool) {
	ms, err := strconv.ParseFloat(string(l), 64)
	if err != nil || !(ms >= 0 && ms <= maxScore) { // also NaN
		return 0, false
	}
	return ServerTime(ms * 1000), true
}

// maxScore is the largest score that is a time: the milliseconds that fit a ServerTime, with room to calculate.
const maxScore = 1 << 52
