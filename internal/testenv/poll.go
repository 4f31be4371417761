package testenv

import (
	"testing"
	"time"
)

// Slack is how many times as long as on a machine of one's own things may take on one that others keep busy. Waiting longer
// costs nothing where what is waited for comes.
const Slack = 4

// Poll waits until done reports true, asking every few milliseconds, and fails the test when that takes longer than limit on a
// machine of one's own would allow. what names the condition in that failure.
func Poll(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	limit *= Slack
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
