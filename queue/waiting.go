package queue

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"
)

// WaitingQuery says which jobs of pool are meant: those that are not due yet, and for which all that is given holds.
type WaitingQuery struct {
	Now           time.Time // by Redis's clock: what is due then is left out
	After, Before time.Time // when it is due as the topic reads its score; a zero one is no bound

	// ScoresIn takes those whose score makes sense in this unit, and not in the topic's; "" is no bound.
	ScoresIn ScoreUnit
}

// Waiting finds the jobs of a pool that a WaitingQuery means, by their scores: however long the pool is, nothing else of it is read.
type Waiting struct {
	store         *Store
	low, high     float64 // scores, both left out; +inf: what waits for ever is meant, too
	after, before string  // the same as ZCOUNT takes them
}

// waitingPage is how many jobs are read at once.
const waitingPage = 200

// NewWaiting returns what finds the jobs that q means.
func (s *Store) NewWaiting(q WaitingQuery) (*Waiting, error) {
	unit := s.opts.ScoreUnit
	w := &Waiting{store: s, low: millisOf(q.Now) / unit.millis(), high: math.Inf(1), before: "+inf"}
	if !q.After.IsZero() {
		w.low = max(w.low, millisOf(q.After)/unit.millis())
	}
	if !q.Before.IsZero() {
		w.high = millisOf(q.Before) / unit.millis()
	}
	if q.ScoresIn != "" {
		if q.ScoresIn.millis() == 0 || q.ScoresIn == unit {
			return nil, fmt.Errorf("scores in %q: want one of %q that is not the topic's", q.ScoresIn, ScoreUnits())
		}
		if q.ScoresIn.millis() > unit.millis() {
			return nil, fmt.Errorf("none waits: read in %q, as score_unit says, such a score is long past, and its job was due at once", unit)
		}
		w.low = max(w.low, (millisOf(q.Now)-plausible)/q.ScoresIn.millis())
		w.high = min(w.high, (millisOf(q.Now)+plausible)/q.ScoresIn.millis())
	}
	w.after = "(" + scoreText(w.low)
	if !math.IsInf(w.high, 1) {
		w.before = "(" + scoreText(w.high)
	}
	return w, nil
}

func scoreText(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }

// millisOf is a time of Redis as a score in milliseconds.
func millisOf(t time.Time) float64 {
	return float64(t.UnixMicro()) / 1000 //nolint:forbidigo // Redis's
}

// Count is how many there are.
func (w *Waiting) Count(ctx context.Context) (int64, error) {
	n, err := w.store.rdb.ZCount(ctx, w.store.keys.pool, w.after, w.before).Result()
	return n, w.explain(ctx, err)
}

// below is how many texts of pool lie below the range.
func (w *Waiting) below(ctx context.Context) (int64, error) {
	n, err := w.store.rdb.ZCount(ctx, w.store.keys.pool, "-inf", w.after[1:]).Result()
	return n, w.explain(ctx, err)
}

func (w *Waiting) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("look into %s: %w", w.store.keys.pool, w.store.explain(ctx, err))
}

// All goes through them once, by when they are due. Those that are given another time meanwhile, out of the range, hide none of the
// others; where the pool changes otherwise some may be passed over, and the last step's Unsure says so.
func (w *Waiting) All(ctx context.Context) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		found := Found{Place: InPool}
		for {
			more, err := w.step(ctx, &found)
			if err != nil {
				yield(Found{}, err)
				return
			}
			found.Unsure = !more && found.Looked < found.Of
			if !yield(found, nil) || !more {
				return
			}
		}
	}
}

// step reads the next page: behind those below the range, and those of the range that were read and still are in it.
func (w *Waiting) step(ctx context.Context, found *Found) (more bool, err error) {
	within, err := w.Count(ctx)
	if err != nil {
		return false, err
	}
	if found.Of == 0 {
		found.Of = within
	}
	below, err := w.below(ctx)
	if err != nil {
		return false, err
	}
	stay := max(0, found.Looked-max(0, found.Of-within))
	page, err := w.store.Peek(ctx, InPool, Page{Offset: below + stay, Limit: waitingPage})
	if err != nil {
		return false, err
	}
	read := len(page.Entries)
	found.Entries = slices.DeleteFunc(page.Entries, func(e Entry) bool { return !w.has(e.Score) })
	found.Looked += int64(len(found.Entries))
	found.Now = page.Now
	return read > 0 && len(found.Entries) > 0 && found.Looked < found.Of, nil
}

// has reports whether a score is in the range: what was read by its rank may have moved.
func (w *Waiting) has(score string) bool {
	n, err := strconv.ParseFloat(score, 64)
	return err == nil && n > w.low && (n < w.high || math.IsInf(w.high, 1))
}
