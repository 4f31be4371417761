package queue

import (
	"context"
	"sync/atomic"
)

// flight counts the jobs under way: handed to the handler, and not come back. Runs that end count down,
// and wake the Feeder when there is room for more, not one by one.
type flight struct {
	workers int // jobs that really run at once
	most    int // jobs under way at once, those claimed ahead included

	jobs   atomic.Int64
	wanted atomic.Int64  // the Feeder waits for no more than so many under way; -1: it does not wait
	room   chan struct{} // cap 1: it has come to that
}

func newFlight(workers, most int) *flight {
	f := &flight{workers: workers, most: most, room: make(chan struct{}, 1)}
	f.wanted.Store(-1)
	return f
}

// enter counts n jobs more.
func (f *flight) enter(n int) { f.jobs.Add(int64(n)) }

// leave counts one job less.
func (f *flight) leave() {
	if f.jobs.Add(-1) > f.wanted.Load() {
		return
	}
	select {
	case f.room <- struct{}{}:
	default:
	}
}

// free returns for how many jobs there is room.
func (f *flight) free() int { return f.most - int(f.jobs.Load()) }

// mark returns how many jobs may be under way when the next are claimed. As long as every worker has what
// it runs and what lies in its socket, the next claim waits until half of what was claimed ahead has been
// run: a call to Redis for each job that ends would cost more than the job. No worker ever waits for that.
func (f *flight) mark() int {
	const (
		kept  = 8  // jobs a worker: the one it runs, and those that may lie in its socket (DESIGN 6.3)
		batch = 48 // enough for one call: while Redis works through more, others wait and workers may run dry
	)
	least, jobs := kept*f.workers, int(f.jobs.Load())
	return min(f.most-1, max(least-1, (jobs+least)/2, jobs-batch))
}

// await waits until no more than mark jobs are under way, and reports false when ctx ends first.
func (f *flight) await(ctx context.Context, mark int) bool {
	f.wanted.Store(int64(mark)) // before the look, so that whoever leaves after it sees it
	defer f.wanted.Store(-1)
	for f.jobs.Load() > int64(mark) {
		select {
		case <-ctx.Done():
			return false
		case <-f.room:
		}
	}
	return true
}
