package testenv

import (
	"testing"
	"time"
)

// Poll waits until done reports true, asking every few milliseconds, and fails the test when that takes
// longer than limit. what names the condition in that failure.
func Poll(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatalf("waited %s for %s", limit, what)
		case <-tick.C:
		}
	}
}
