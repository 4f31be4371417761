package queue_test

import (
	"context"
	"testing"

	"sidecar/compat"
	"sidecar/queue"
)

// startHolding starts a flow whose jobs end, done, when release is closed, and waits until the job in first runs.
func startHolding(t *testing.T, b bench, change func(*queue.Options), first string) (f *flow, r *runs, release chan struct{}) {
	t.Helper()
	r = newRuns()
	release = make(chan struct{})
	f = startFlow(t, b, change, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	})
	b.ready(t, first)
	eventually(t, "the first run", func() bool { return r.count() == 1 })
	return f, r, release
}
