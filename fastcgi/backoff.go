package fastcgi

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is how long to wait after so many faults: none at the very start, then doubling up to most, ±25 %.
func backoff(faults int, most time.Duration) time.Duration {
	if faults == 0 {
		return 0
	}
	d := min(25*time.Millisecond<<min(faults, 20), most)
	return d*3/4 + rand.N(d/2)
}

// pauseFor waits for d, or until ctx is done.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
