package queue

import "time"

const (
	// slowPoll is how often a topic is looked at although Redis tells us of every change: a wake-up
	// that got lost must not stall it. With the looks for expired claims, five idle topics make three or
	// four commands a second of it, eight while jobs ran a short time ago.
	slowPoll = 4 * time.Second

	// wakeGap is the least time between a reply and the next call that only a change in Redis asks for:
	// a flood of writes costs 500 calls a second, and our own writes, of which we are told as well, no spin.
	wakeGap = 2 * time.Millisecond

	// dueGap is the least time between a promotion and the next that a due time asks for.
	dueGap = 500 * time.Microsecond
)

// rhythm says how often to look at a topic unasked.
type rhythm struct {
	scanInterval time.Duration
	tracking     func() bool // Redis tells us of every change
}

// poll returns the longest wait until the next look.
func (r rhythm) poll() time.Duration {
	if r.tracking() {
		return max(spread(slowPoll), r.scanInterval)
	}
	return r.scanInterval
}
