package queue

import (
	"context"
	"errors"
	"fmt"
)

// retime makes a requeue, once.
func (s *Store) retime(ctx context.Context, m HandMove) (MoveResult, error) {
	reply, err := s.call(ctx, m.Verb, retimeScript, []string{s.keys.pool, s.keys.moved}, m.Ticket, m.Record, m.Score, m.Due, ticketsKept)
	switch {
	case err != nil:
		return 0, err
	case reply == int64(1):
		return Taken, nil
	case reply == int64(2):
		return TakenBefore, nil
	}
	return NotThere, nil
}

// undoRequeue has a job wait for its old time again, in the pool or, where it was promoted already, out of ready. In ready of a list it is left
// alone: there its text is all that is left of it, which others may have, too.
func (s *Store) undoRequeue(ctx context.Context, m HandMove, known bool) (UndoResult, error) {
	r, err := s.untime(ctx, m, known, "", 0)
	if err != nil || r != Started || s.opts.List != nil {
		return r, err
	}
	ready := s.keys.ready[0]
	for range moveTries {
		at, err := s.waits(ctx, ready, sumOf(string(m.Record)))
		if errors.Is(err, ErrNotThere) {
			return Started, nil
		}
		if err != nil {
			return 0, err
		}
		if r, err := s.untime(ctx, m, known, ready, at); err != nil || r != Started {
			return r, err
		}
	}
	return 0, fmt.Errorf("undo in %s: ready changes all the time, try again", s.opts.Topic)
}

// untime calls the script. Started is what it says of a text that is not at its place: in the pool or, at an index, in ready.
func (s *Store) untime(ctx context.Context, m HandMove, known bool, ready string, at int64) (UndoResult, error) {
	keys := []string{s.keys.pool, s.keys.moved}
	if ready != "" {
		keys = append(keys, ready)
	}
	reply, err := s.call(ctx, "undo in", untimeScript, keys, m.Ticket, m.Record, flag(known), m.Due, m.Score, at, s.nearEnd, ticketsKept)
	if err != nil {
		return 0, err
	}
	return undoResult(reply), nil
}
