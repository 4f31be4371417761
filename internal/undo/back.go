package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"sidecar/queue"
)

// Pending is a move that is still to be taken back. Known says that it was made; else Redis has to be asked.
type Pending struct {
	Move  queue.HandMove
	Known bool
}

// Pending are the moves that are still to be taken back, in the order in which they were made, at most n at a time.
func (l *Log) Pending(n int) iter.Seq2[[]Pending, error] {
	return func(yield func([]Pending, error) bool) {
		var moves []Pending
		for text, err := range l.lines() {
			var one line
			if err == nil {
				err = json.Unmarshal(text, &one) // of the first line nothing fits
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", l.w.path, err))
				return
			}
			if one.Move == nil || l.states[one.Move.Ticket].ended {
				continue
			}
			if moves = append(moves, Pending{*one.Move, l.states[one.Move.Ticket].taken}); len(moves) < n {
				continue
			}
			if !yield(moves, nil) {
				return
			}
			moves = nil
		}
		if len(moves) > 0 {
			yield(moves, nil)
		}
	}
}

// TakeBack takes moves back, one after the other, each within patience, and writes down what became of them. It returns that, of as many as it
// could: beside an error the next one may be back already, and those behind it were not begun. When ctx ends it begins no further one; one that was begun
// is finished, since its text may have to be looked for.
func (l *Log) TakeBack(ctx context.Context, store *queue.Store, moves []Pending, patience time.Duration) (results []queue.UndoResult, err error) {
	undone := make(map[string]queue.UndoResult, len(moves))
	for _, m := range moves {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var r queue.UndoResult
		if r, err = undoOne(ctx, store, m, patience); err != nil {
			break
		}
		results = append(results, r)
		undone[m.Move.Ticket] = r
	}
	if writeErr := l.w.undone(undone); writeErr != nil {
		return results, fmt.Errorf("what is back is known to redis only: %w", writeErr)
	}
	return results, err
}

func undoOne(ctx context.Context, store *queue.Store, m Pending, patience time.Duration) (queue.UndoResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return store.Undo(ctx, m.Move, m.Known)
}

// ErrElsewhere reports a file whose moves were made in other queues, as far as is known.
var ErrElsewhere = errors.New("its jobs belong elsewhere")

// lastMost is of how many of its last moves Redis is asked whether it knows them.
const lastMost = 100

// CheckHome refuses a file that was written for another key prefix or another Redis. Where the configuration names another server, or
// another host has it, and Redis knows the file's moves all the same, they are the same queues: they have moved, or are
// called by another name. store is that of the file's topic.
func (l *Log) CheckHome(ctx context.Context, store *queue.Store, prefix string, here queue.Home, patience time.Duration) error {
	if l.Head.KeyPrefix != prefix {
		return fmt.Errorf("%w: %s is for key_prefix = %q, this configuration has %q", ErrElsewhere, l.w.path, l.Head.KeyPrefix, prefix)
	}
	if l.Head.Redis == nil || l.Head.Redis.Is(here) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	known, err := store.KnowsMove(ctx, l.last)
	if err != nil || known {
		return err
	}
	return fmt.Errorf("%w: %s was written at %s; this configuration leads to %s, which knows none of its moves", ErrElsewhere, l.w.path, l.Head.Redis, here)
}

// Trace adds to the audit trail that n jobs were put back.
func (l *Log) Trace(ctx context.Context, audit queue.Audit, by string, n int) error {
	return audit.Add(ctx, queue.Audited{
		By: by, Verb: queue.VerbUndo, Topic: l.Head.Topic, Count: n, File: l.w.whole(), Note: "of a " + l.Head.Verb,
	})
}

// whole is the file's path from the root on: who reads it is elsewhere.
func (w *Writer) whole() string {
	if path, err := filepath.Abs(w.path); err == nil {
		return path
	}
	return w.path
}
