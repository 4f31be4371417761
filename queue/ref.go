package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrNotThere reports that a job is not where it was seen: it has moved on, or somebody else has moved it.
var ErrNotThere = errors.New("the job is not there any more")

// ErrNoRef reports a text that is no reference to a job of this topic.
var ErrNoRef = errors.New("no reference to a job")

// Ref names the entry for a URL, a form or a command line: letters, digits and "._-", and nothing of what the job holds.
func (e Entry) Ref() string {
	return reference{e.Place, e.Shard, e.Index, e.Length, e.Score, sumOf(e.Stored)}.text()
}

// sumOf names a stored text in a Ref: so much of its fingerprint that no two texts of a queue share it by chance.
func sumOf(stored string) string { return fingerprint(stored)[:20] }

// reference is what a Ref says.
type reference struct {
	place         Place
	shard         int
	index, length int64
	score         string
	sum           string
}

// text writes the reference with "_" between its parts. The only "+" of a score stands before an exponent, where it
// means nothing.
func (r reference) text() string {
	return fmt.Sprintf("%s_%d_%d_%d_%s_%s", r.place, r.shard, r.index, r.length, strings.ReplaceAll(r.score, "+", ""), r.sum)
}

// parseRef undoes text.
func parseRef(text string) (r reference, err error) {
	parts := strings.Split(text, "_")
	if len(parts) != 6 || len(parts[5]) != 20 {
		return reference{}, fmt.Errorf("%.80q: %w", text, ErrNoRef)
	}
	var numbers [3]int64
	for i := range numbers {
		n, err := strconv.ParseInt(parts[1+i], 10, 64)
		if err != nil {
			return reference{}, fmt.Errorf("%.80q: %w: %w", text, ErrNoRef, err)
		}
		numbers[i] = n
	}
	if f, err := strconv.ParseFloat(parts[4], 64); (err != nil || math.IsNaN(f)) && parts[4] != "" {
		return reference{}, fmt.Errorf("%.80q: %w: score %q", text, ErrNoRef, parts[4])
	}
	return reference{Place(parts[0]), int(numbers[0]), numbers[1], numbers[2], parts[4], parts[5]}, nil
}

// Entry reads the entry that ref names, where it is now: near where it was seen, and in pool by its due time. It is ErrNotThere
// when it is not, or has moved further than a bounded look goes; then a Search finds it.
func (s *Store) Entry(ctx context.Context, ref string) (Entry, error) {
	r, err := parseRef(ref)
	if err != nil {
		return Entry{}, err
	}
	switch r.place {
	case InPool:
		return s.pooled(ctx, r)
	case InRunning: // renewals move it about, but only as many run at once as there are workers
		e, err := s.whereSeen(ctx, s.keys.running, r)
		if !errors.Is(err, ErrNotThere) {
			return e, err
		}
		return s.near(ctx, s.keys.running, byScore, r, 0, 10*windowMost)
	case InReady, InDead:
		keys := s.keys.at(r.place)
		if r.shard < 0 || r.shard >= len(keys) {
			return Entry{}, fmt.Errorf("%.80q: %w: it names shard %d, there are %d", ref, ErrNoRef, r.shard, len(keys))
		}
		return s.listed(ctx, keys[r.shard], r)
	}
	return Entry{}, fmt.Errorf("%.80q: %w: it names no place, want one of %q", ref, ErrNoRef, Places())
}

// scoredLooks bounds how many texts with one due time are looked through for one: producers who write 0 for at once have many.
const scoredLooks = 10

// pooled finds a text of pool: by its rank, else among those with its score.
func (s *Store) pooled(ctx context.Context, r reference) (Entry, error) {
	if r.index >= 0 {
		e, err := s.whereSeen(ctx, s.keys.pool, r)
		if !errors.Is(err, ErrNotThere) {
			return e, err
		}
	}
	for look := range int64(scoredLooks) {
		page := &redis.ZRangeBy{Min: r.score, Max: r.score, Offset: look * 100, Count: 100}
		texts, err := s.rdb.ZRangeByScore(ctx, s.keys.pool, page).Result()
		if err != nil {
			return Entry{}, fmt.Errorf("read %s: %w", s.opts.Topic, s.explain(ctx, err))
		}
		for _, text := range texts {
			if sumOf(text) == r.sum {
				e := s.wire().entry(InPool, text)
				s.scored(&e, r.score)
				return e, nil
			}
		}
		if len(texts) < 100 {
			break
		}
	}
	return Entry{}, fmt.Errorf("pool of %s: %w", s.opts.Topic, ErrNotThere)
}

// whereSeen looks where a text of pool or running was seen: mostly it still lies there, and else not far off.
func (s *Store) whereSeen(ctx context.Context, key string, r reference) (Entry, error) {
	e, err := s.near(ctx, key, byScore, r, max(0, r.index), 1)
	if !errors.Is(err, ErrNotThere) {
		return e, err
	}
	return s.near(ctx, key, byScore, r, max(0, r.index-windowMost/2), windowMost)
}

// near looks through up to n texts behind the first ones.
func (s *Store) near(ctx context.Context, key string, from end, r reference, first, n int64) (Entry, error) {
	reasons := s.newReasons()
	for until := first + n; first < until; {
		w, err := s.stretch(ctx, key, from, first, until-first)
		if err != nil {
			return Entry{}, err
		}
		for i, text := range w.texts {
			if sumOf(text) != r.sum {
				continue
			}
			e, own, err := s.entryAt(ctx, r.place, r.shard, from, first, i, w, reasons)
			if err != nil || own {
				return e, err
			}
		}
		if len(w.texts) == 0 {
			break
		}
		first += int64(len(w.texts))
	}
	return Entry{}, fmt.Errorf("%s of %s: %w", r.place, s.opts.Topic, ErrNotThere)
}

// listed finds a text of a list.
func (s *Store) listed(ctx context.Context, key string, r reference) (Entry, error) {
	at, err := s.locate(ctx, key, r.sum, r.index, r.length)
	if err != nil {
		return Entry{}, fmt.Errorf("%s of %s: %w", r.place, s.opts.Topic, err)
	}
	return s.near(ctx, key, fromHead, r, at, 1)
}
