package queue

import (
	"context"

	"sidecar/compat"
)

// Handler runs the business code of one job. It returns soon after ctx is done: then either the run was
// stopped (Unavailable), or it could not be (Outcome.Held).
// Handle is called with a slot held; it imposes the topic's own timeout itself. Where the run has to wait before it
// begins, it must not begin once the claim has lapsed ([compat.ClaimOf] ctx): Unavailable.
type Handler interface {
	Handle(ctx context.Context, job compat.Job) compat.Outcome
}

// Gate gives permission to run jobs: one slot, one job. No job is claimed without one.
type Gate interface {
	// Acquire waits until the gate is open and at least one slot is free, takes between 1 and most slots
	// and returns how many. It returns 0 only when ctx is done.
	Acquire(ctx context.Context, most int) int

	// Release gives n slots back.
	Release(n int)

	// Recall has the jobs come back, as Unavailable, that were permitted and that no worker has begun, and whose claims
	// are to go back ([compat.Claim]). Others can be permitted afterwards.
	Recall()

	// Blocked returns why nobody gets a slot at present: it is shut, or all slots are in use. It is nil while Acquire
	// would return at once.
	Blocked() error
}
