package fastcgi

import (
	"sync"
	"time"

	"sidecar/compat"
)

// errand is one job on its way through a crew. Guarded by crew.mu until its outcome is known.
type errand struct {
	job       compat.Job
	route     *route
	id        uint32       // among its worker's
	by        *resident    // who has it; nil while it is pending
	asked     time.Time    // when it came
	sent      time.Time    // when its worker got it
	alone     bool         // the worker had nothing else then
	unsent    bool         // it could not be written
	withdrawn bool         // nobody wants it to start any more
	claim     compat.Claim // nil: none that could lapse
	trace     compat.TraceContext
	result    *Result // for a person who wants to see all, mostly nil
	outcome   chan compat.Outcome
}

// errands keeps those that are over for those to come, each with its channel.
type errands struct{ pool sync.Pool }

func (s *errands) get(job compat.Job, to *route, result *Result) *errand {
	e, ok := s.pool.Get().(*errand)
	if !ok {
		e = &errand{outcome: make(chan compat.Outcome, 1)}
	}
	*e = errand{job: job, route: to, asked: time.Now(), result: result, outcome: e.outcome}
	return e
}

func (s *errands) put(e *errand) {
	e.job, e.route, e.by, e.claim, e.result = compat.Job{}, nil, nil, nil, nil
	e.trace = compat.TraceContext{}
	s.pool.Put(e)
}

// end makes o known. Nobody but its caller may look at the errand afterwards.
func (e *errand) end(o compat.Outcome) { e.outcome <- o }

// lapsed reports that others may have the job by now, or that its claim is to go back: it must not begin.
func (e *errand) lapsed() bool { return e.claim != nil && e.claim.Lapsed() }

// errandQueue is a queue of errands, oldest first.
type errandQueue struct {
	list []*errand
	from int
}

func (q *errandQueue) len() int { return len(q.list) - q.from }

func (q *errandQueue) first() *errand { return q.list[q.from] }

func (q *errandQueue) push(e *errand) { q.list = append(q.list, e) }

// pop takes the oldest out.
func (q *errandQueue) pop() *errand {
	e := q.list[q.from]
	q.list[q.from] = nil
	q.from++
	if q.from == len(q.list) || q.from >= 1024 {
		q.list = append(q.list[:0], q.list[q.from:]...)
		q.from = 0
	}
	return e
}

// putBack puts errands before all others, in their order.
func (q *errandQueue) putBack(list []*errand) {
	rest := append(append([]*errand(nil), list...), q.list[q.from:]...)
	q.list, q.from = rest, 0
}

// remove takes e out and reports whether it was there.
func (q *errandQueue) remove(e *errand) bool {
	for i := q.from; i < len(q.list); i++ {
		if q.list[i] == e {
			q.list = append(q.list[:i], q.list[i+1:]...)
			return true
		}
	}
	return false
}

// all takes every one out.
func (q *errandQueue) all() []*errand {
	list := append([]*errand(nil), q.list[q.from:]...)
	*q = errandQueue{}
	return list
}
