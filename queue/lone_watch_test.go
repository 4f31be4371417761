package queue_test

import (
	"context"
	"fmt"
	"testing"

	"sidecar/compat"
	"sidecar/queue"
)

// A job that is to run alone waits for a long one, and all that was claimed ahead waits for it: the gate has more, but
// enough are under way.
func TestJobsThatWaitForOneThatRunsAloneAreNoStall(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	ahead := func(o *queue.Options) { quickWatch(o); o.Workers, o.LookAhead, o.MaxCrashes = 2, 64, 3 }
	r, release := newRuns(), make(chan struct{})
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), newOddGate(128), ahead, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.UUID() == "long" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return done
	})
	b.ready(t, text("long"))
	eventually(t, "the long job to run", func() bool { return r.count() == 1 })
	b.ready(t, `{"uuid":"alone","crashes":3,"last_error":"lease expired: the consumer died"}`)
	eventually(t, "the other to wait for it", func() bool { return b.size(t, b.keys.Running) == 2 })
	for i := range 30 {
		b.ready(t, text(fmt.Sprint("claimed-", i)))
	}
	eventually(t, "enough to be under way", func() bool { return b.size(t, b.keys.Running) > 16 })
	for i := range 100 {
		b.ready(t, text(fmt.Sprint("waits-", i)))
	}
	wait(t.Context(), 4*stallAfter)
	if b.size(t, b.keys.Ready) == 0 || r.count() != 1 {
		t.Errorf("%d in ready, %d runs, want some and 1", b.size(t, b.keys.Ready), r.count())
	}
	if f.sum(t, "sidecar_stalls_total") != 0 {
		t.Error("taken for a stall")
	}
	close(release)
	eventually(t, "all to be done", func() bool { return b.empty(t) && r.count() == 132 })
}
