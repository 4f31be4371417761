package stage

import (
	"cmp"
	"slices"
	"time"
)

// places are the places of a job in the order in which it goes through them.
var places = []string{"pool", "ready", "running", "dead"}

// Turn is when a job's turn comes, or came, among others.
type Turn struct {
	Topic string
	Place string
	Never bool      // pool: it is never due
	Due   time.Time // pool; zero: it always has been
	Ahead int64     // ready: how many come before it
	Lease time.Time // running: until when
	Died  time.Time // dead; zero: nobody knows
}

// InOrder puts jobs that were found in the order in which they run: topic by topic as these were looked through, from the pool to dead, there by due
// time, or place in ready, or the end of the lease, and of dead the newest first.
func InOrder[J any](jobs []J, turn func(J) Turn) {
	topics := map[string]int{}
	for _, j := range jobs {
		if topic := turn(j).Topic; topics[topic] == 0 {
			topics[topic] = len(topics) + 1
		}
	}
	slices.SortStableFunc(jobs, func(x, y J) int {
		a, b := turn(x), turn(y)
		return cmp.Or(
			cmp.Compare(topics[a.Topic], topics[b.Topic]), cmp.Compare(slices.Index(places, a.Place), slices.Index(places, b.Place)),
			last(a.Never, b.Never), a.Due.Compare(b.Due), cmp.Compare(a.Ahead, b.Ahead), a.Lease.Compare(b.Lease), b.Died.Compare(a.Died),
		)
	})
}

// last puts what it holds for behind the others.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// AllBusy reports that all workers of a topic have a job while others wait. running are its jobs that run on all sidecars, workers how many may.
func AllBusy(workers int, running, waiting int64) bool {
	return workers > 0 && running >= int64(workers) && waiting > 0
}
