package queue

import (
	"sync"
	"time"
)

// lostReplies remembers when calls of Claim were under way whose reply never arrived. What they claimed
// was never run, so when such a lease ends no crash is counted (DESIGN 5). Another sidecar's claim of the
// same moment may be spared a crash by it, once; that is the cheaper mistake.
type lostReplies struct {
	mu      sync.Mutex // guards what follows
	windows []window   // oldest first
}

type window struct {
	from, to ServerTime
	length   time.Duration // of the leases that were asked for: a reload may change it
}

const (
	// lostRepliesKept bounds the windows: one a failed call, and a Feeder backs off.
	lostRepliesKept = 64

	// lostReplySlack allows for a call that Redis ran some time after the connection was given up.
	lostReplySlack = time.Second
)

// add notes a call that asked for leases of that length, was sent at from and given up at to.
func (l *lostReplies) add(from, to ServerTime, length time.Duration) {
	if from.IsZero() {
		return // before the first reply nothing is known of Redis's clock
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows = append(l.windows, window{from.Add(-lostReplySlack), to.Add(lostReplySlack), length})
	if len(l.windows) > lostRepliesKept {
		l.windows = l.windows[1:]
	}
}

// covers reports that a claim under lease, never renewed, may come from such a call.
func (l *lostReplies) covers(lease Lease) bool {
	end, ok := leaseEnd(lease)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.windows {
		if start := end.Add(-w.length); w.from <= start && start <= w.to {
			return true
		}
	}
	return false
}
