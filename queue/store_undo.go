package queue

import (
	"context"
	"errors"
	"fmt"
)

// UndoResult says what became of an Undo.
type UndoResult int

// The results. They start at 1, so that a forgotten value is none.
const (
	// Restored: the record is back in dead, as the newest; a replayed text was taken out of the queue again. Of a requeue: the job waits
	// for its old time.
	Restored UndoResult = iota + 1
	// RestoredBefore: that was done before. Nothing changed.
	RestoredBefore
	// NeverTaken: the move was never made, as far as is known. Nothing changed.
	NeverTaken
	// Started: the job does not wait any more: it runs, or has run. Nothing changed.
	Started
)

// String returns the result's name as logs spell it.
func (r UndoResult) String() string {
	switch r {
	case Restored:
		return "restored"
	case RestoredBefore:
		return "restored before"
	case NeverTaken:
		return "never taken"
	case Started:
		return "started"
	}
	return "unknown"
}

// nowhere is an index that no list has.
const nowhere = 1 << 40

// Undo undoes a move, in one step, and once. known says that Move returned Taken or TakenBefore for it; otherwise Redis is asked, which
// remembers the last 50,000 moves of the topic. So a record that was never taken is not doubled.
func (s *Store) Undo(ctx context.Context, m HandMove, known bool) (UndoResult, error) {
	if err := s.check(m); err != nil {
		return 0, err
	}
	if m.Verb == VerbRequeue {
		return s.undoRequeue(ctx, m, known)
	}
	if m.Verb == VerbDrop {
		return s.restore(ctx, m, known, "drop", s.keys.dead, 0)
	}
	ready := s.keys.ready[0]
	if s.opts.List != nil {
		ready = s.shardOf(m.UUID)
	} else if r, err := s.restore(ctx, m, known, "pool", s.keys.pool, 0); err != nil || r != Started {
		return r, err
	}
	// Not in the pool any more: promoted, then.
	for range moveTries {
		at, err := s.waits(ctx, ready, sumOf(string(m.Text)))
		if errors.Is(err, ErrNotThere) {
			return s.restore(ctx, m, known, "list", ready, nowhere)
		}
		if err != nil {
			return 0, err
		}
		if r, err := s.restore(ctx, m, known, "list", ready, at); err != nil || r != Started {
			return r, err
		}
	}
	return 0, fmt.Errorf("undo in %s: ready changes all the time, try again", s.opts.Topic)
}

// waits returns the index of the text with that sum in a list where jobs wait to run. It is looked for from the end on
// where it came in, piece by piece.
func (s *Store) waits(ctx context.Context, key, sum string) (int64, error) {
	from := s.newest(InReady)
	for first := int64(0); ; {
		w, err := s.stretch(ctx, key, from, first, windowMost)
		if err != nil {
			return 0, err
		}
		for i, text := range w.texts {
			if sumOf(text) == sum {
				return from.index(first+int64(i), w.total), nil
			}
		}
		if len(w.texts) == 0 || first+int64(len(w.texts)) >= w.total {
			return 0, ErrNotThere
		}
		first += max(1, int64(len(w.texts))*3/4) // what is taken from that end meanwhile must not hide one
	}
}

// restore calls the script. Started is what it says of a text that is not at its place.
func (s *Store) restore(ctx context.Context, m HandMove, known bool, from, key string, at int64) (UndoResult, error) {
	newest := "RIGHT"
	if s.newest(InDead) == fromHead {
		newest = "LEFT"
	}
	keys := []string{s.keys.dead, s.keys.moved, key}
	if s.opts.List != nil {
		keys = append(keys, s.keys.reasons)
	}
	reply, err := s.call(ctx, "undo in", restoreScript, keys,
		m.Ticket, m.Record, flag(known), from, m.Text, at, newest, s.nearEnd, ticketsKept, m.Reason, reasonsKept)
	if err != nil {
		return 0, err
	}
	return undoResult(reply), nil
}

// undoResult reads what restore and untime return.
func undoResult(reply any) UndoResult {
	switch reply {
	case int64(1):
		return Restored
	case int64(2):
		return RestoredBefore
	case int64(3):
		return NeverTaken
	}
	return Started
}
