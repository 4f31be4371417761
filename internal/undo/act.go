package undo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidecar/queue"
)

// ErrNotKept reports jobs that stay where they are, since what would undo their move cannot be kept.
var ErrNotKept = errors.New("not moved, since it could not be undone")

// Order says what an act is to do, how, and for whom.
type Order struct {
	Head                         // what its file begins with
	UUID    string               // of the one job that is meant, as compat.PlainUUID has it; "" where several are
	Replay  queue.ReplayOptions  // how jobs are replayed
	Requeue queue.RequeueOptions // how jobs are requeued
	Zone    *time.Location       // in which replayed_at is written

	// Patience is how long one move may take, and one line of the trail.
	Patience time.Duration
}

// Act replays or drops dead jobs of one topic, or requeues waiting ones: it begins, makes moves, and is closed. Each batch stands in a file, on the disk, before it is moved,
// and the audit trail has a line of it. It is for one goroutine.
type Act struct {
	order Order
	store *queue.Store
	audit queue.Audit

	file   *Writer // nil: not begun, or closed without anything that could be taken back
	total  int     // how many are to be moved
	moved  int
	unsure bool  // a move was begun of which nobody knows whether it was made
	untold error // why the trail has no line
}

// NewAct returns the act that o describes.
func NewAct(store *queue.Store, audit queue.Audit, o Order) *Act {
	return &Act{order: o, store: store, audit: audit}
}

// Plan returns the move of a job. It changes nothing. A record that holds no job that can run is a
// compat.ErrNotRecord or a queue.ErrNoJob.
func (a *Act) Plan(ctx context.Context, e queue.Entry) (queue.HandMove, error) {
	if a.order.Verb == queue.VerbDrop {
		return a.store.PlanDrop(e)
	}
	ctx, cancel := context.WithTimeout(ctx, a.order.Patience)
	defer cancel()
	if a.order.Verb == queue.VerbRequeue {
		return a.store.PlanRequeue(ctx, e, a.order.Requeue)
	}
	return a.store.PlanReplay(ctx, e, a.order.Replay, a.order.Zone)
}

// Begin opens the file in dir and leaves a line in the audit trail, which says that total jobs are moved. Where the file cannot be written, or Redis takes no
// line, nothing begins and nothing is left behind; a trail that this user may not write is told of by Untold.
func (a *Act) Begin(ctx context.Context, dir string, total int) error {
	file, err := Create(dir, a.order.Head)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	a.file, a.total = file, total
	if a.untold = a.trace(ctx, total, ""); queue.FaultOf(a.untold).OfServer() {
		a.file = nil
		return errors.Join(fmt.Errorf("nothing was moved: %w", a.untold), file.remove())
	}
	return nil
}

// Make writes moves down and makes them, one after the other. It returns what became of them, of as many as it could: beside an
// error of Redis the next one may have been made, which Undo finds out by its ticket, and those behind it were not begun. When ctx ends it begins no further one.
func (a *Act) Make(ctx context.Context, moves []queue.HandMove) (results []queue.MoveResult, err error) {
	if err := a.file.Plan(moves); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	made := make(map[string]queue.MoveResult, len(moves))
	for _, m := range moves {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var r queue.MoveResult
		if r, err = a.moveOne(ctx, m); err != nil {
			break
		}
		results = append(results, r)
		made[m.Ticket] = r
	}
	a.file.Made(made)
	return results, err
}

// moveOne makes one move. Once it has begun it is waited for, whoever wants it to end.
func (a *Act) moveOne(ctx context.Context, m queue.HandMove) (queue.MoveResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.order.Patience)
	defer cancel()
	r, err := a.store.Move(ctx, m)
	if r == queue.Taken || r == queue.TakenBefore {
		a.moved++
	}
	switch queue.FaultOf(err) { //nolint:exhaustive // all others Redis has said itself, and changed nothing
	case queue.Network, queue.Stopped, queue.Other:
		a.unsure = true
	}
	return r, err
}

// Close ends the act, and the file: one by which nothing can be taken back is removed. Where fewer jobs were moved than were begun the trail is told.
func (a *Act) Close(ctx context.Context) error {
	if a.file == nil {
		return nil
	}
	file, nothing := a.file, a.moved == 0 && !a.unsure
	if nothing {
		a.file = nil
	}
	if a.moved != a.total && a.untold == nil {
		a.untold = a.trace(ctx, a.moved, fmt.Sprintf("of %d that were begun", a.total))
	}
	if nothing {
		return file.remove()
	}
	return file.Close()
}

// Path is where the file is; "" where there is none.
func (a *Act) Path() string {
	if a.file == nil {
		return ""
	}
	return a.file.path
}

// Untold says why the audit trail has no line of this; nil where it has.
func (a *Act) Untold() error { return a.untold }

// trace leaves a line in the audit trail.
func (a *Act) trace(ctx context.Context, count int, note string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.order.Patience)
	defer cancel()
	line := queue.Audited{
		By: a.order.By, Verb: a.order.Verb, Topic: a.order.Topic, Count: count, UUID: a.order.UUID, Filter: a.order.Filter, Note: note,
	}
	if a.file != nil {
		line.File = a.file.whole()
	}
	return a.audit.Add(ctx, line)
}
