package queue

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff waits longer after each failure in a row: n² · 10 ms, at most most, ± 50 % so that the
// sidecars of a fleet do not come back in step.
type backoff struct {
	most     time.Duration
	failures int
}

// wait waits once more, or until ctx is done.
func (b *backoff) wait(ctx context.Context) {
	b.failures++
	pause(ctx, spread(b.length()))
}

// reset ends the run of failures.
func (b *backoff) reset() { b.failures = 0 }

// length is the wait after the failures so far, before it is spread.
func (b *backoff) length() time.Duration {
	n := min(b.failures, 1000) // far above any cap; keeps the square small
	return min(time.Duration(n*n)*10*time.Millisecond, b.most)
}

// spread moves d by up to 50 % in either direction.
func spread(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d)+1))
}

// pause waits for d or until ctx is done, and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
