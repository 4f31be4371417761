package queue_test

import (
	"context"
	"testing"

	"sidecar/compat"
)

// Two jobs at their last chance: the second is not held under a lease while the first runs alone, or it would be buried
// with it, unrun, if the first takes the process along.
func TestAJobAtItsLastChanceWaitsInThePoolWhileAnotherRunsAlone(t *testing.T) {
	b := newBench(t, nil)
	last := func(uuid string) string {
		return `{"uuid":"` + uuid + `","crashes":5,"last_error":"lease expired: the consumer that ran this job died or lost Redis"}`
	}
	r, release := newRuns(), make(chan struct{})
	f := startFlow(t, b, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if r.count() == 1 {
			<-release
		}
		return done
	})
	b.ready(t, last("a"), last("b"))
	eventually(t, "one to run and the other to be put off", func() bool {
		return r.count() == 1 && b.size(t, b.keys.Running) == 1 && b.size(t, b.keys.Pool) == 1
	})
	close(release)
	eventually(t, "both to be done", func() bool { return b.empty(t) })
	if r.of("a") != 1 || r.of("b") != 1 || f.sum(t, "sidecar_buried_total") != 0 {
		t.Errorf("ran %d and %d times, want once each", r.of("a"), r.of("b"))
	}
}
