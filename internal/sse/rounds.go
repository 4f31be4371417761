package sse

import (
	"context"
	"time"
)

// life is how long a stream lasts that looks again and again: it ends by itself and the client comes back, so that nothing
// stays for good.
const life = 10 * time.Minute

// Rounds has a stream look at once and then every so often, until it has lived for long enough or ctx, its request's, is
// done.
func Rounds(ctx context.Context, every time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		end := time.NewTimer(life)
		defer end.Stop()
		for ctx.Err() == nil && yield() { // else a tick that comes with the end might win
			select {
			case <-ctx.Done():
				return
			case <-end.C:
				return
			case <-ticks.C:
			}
		}
	}
}
