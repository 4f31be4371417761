package queue

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"sidecar/compat"
)

// Query says which jobs are looked for: those for which all that is given holds.
type Query struct {
	Places []Place // where; nil: everywhere

	UUID   string // the job's uuid, in profile list its job_id, exactly, or its Entry.Name
	Prefix string // what its uuid begins with
	Type   string // its type, exactly
	Error  string // a part of why it is dead, or of its last_error; large and small letters are the same

	Like   string  // an error, or its ErrorClass: that of why it is dead, or of its last_error, is the same
	Text   string  // a part of its text, as it stands or as it reads without \uXXXX and \/
	Fields []Field // each of which its text has

	// From when, and until when at the latest, a job of dead was buried, or one of the pool is due. Jobs of ready and running have
	// no such time: with one of these they are not found.
	Since, Until time.Time

	// Oldest walks ready and dead from the oldest on, instead of from the newest. Whoever takes what is found out of dead
	// needs it: a record taken from the middle is replaced by the oldest one (docs/decisions/0021).
	Oldest bool
}

// Found is what one step of a Search found.
type Found struct {
	Entries []Entry // a job may be found twice where keys change meanwhile
	Looked  int64   // texts looked at so far
	Of      int64   // of how many, as it was at the first step
	Cursor  string  // what the next step goes on with; "": that was the last one
	Place   Place   // where this step looked
	Now     ServerTime

	// Unsure reports that a list changed so much between steps that texts may have been passed over.
	Unsure bool
}

// Search looks for jobs in small steps, each of a bounded piece of one key. Where a step ends is in its Cursor, which can be
// carried over a URL to another Search for the same. It is for one goroutine.
type Search struct {
	store   *Store
	query   Query
	loc     *time.Location
	where   []Place
	reasons *reasons // kept from step to step, for there are many
}

// NewSearch returns the Search for q. loc is the time zone of what dead records say.
func (s *Store) NewSearch(q Query, loc *time.Location) (*Search, error) {
	q.Error, q.Like = strings.ToLower(q.Error), ErrorClass(q.Like)
	where := make([]Place, 0, len(Places()))
	for _, place := range Places() { // in the order of a job's way, so that one that moves on is met later
		if q.Places == nil || slices.Contains(q.Places, place) {
			where = append(where, place)
		}
	}
	for _, place := range q.Places {
		if !slices.Contains(Places(), place) {
			return nil, fmt.Errorf("search %s: place %q: want some of %q", s.opts.Topic, string(place), Places())
		}
	}
	return &Search{store: s, query: q, loc: loc, where: where, reasons: s.newReasons()}, nil
}

// Next makes one step from cursor on, which is "" at first. A text that stays where it is from the first step to
// the last is found; so is one that only moves on to the next place. Nothing in Redis changes.
func (s *Search) Next(ctx context.Context, cursor string) (Found, error) {
	c, err := s.start(ctx, cursor)
	if err != nil {
		return Found{}, err
	}
	if c.Place >= len(s.where) {
		return Found{Looked: c.Looked, Of: c.Of, Unsure: c.Unsure}, nil
	}
	place := s.where[c.Place]
	found := Found{Place: place}
	var ended bool
	if place == InPool || place == InRunning {
		ended, err = s.scan(ctx, place, &c, &found)
	} else {
		ended, err = s.walk(ctx, place, &c, &found)
	}
	if err != nil {
		return Found{}, err
	}
	if ended {
		c.nextKey(place, len(s.store.keys.ready))
	}
	found.Looked, found.Of, found.Unsure = c.Looked, c.Of, c.Unsure
	if c.Place < len(s.where) {
		found.Cursor = c.text()
	}
	return found, nil
}

// All makes all steps, from the first on. Found.Unsure of the last one says whether texts may have been passed over.
func (s *Search) All(ctx context.Context) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		for cursor := ""; ; {
			found, err := s.Next(ctx, cursor)
			if !yield(found, err) || err != nil || found.Cursor == "" {
				return
			}
			cursor = found.Cursor
		}
	}
}

// start reads the cursor. At the first step it counts what there is to look at.
func (s *Search) start(ctx context.Context, text string) (cursor, error) {
	if text != "" {
		c, err := parseCursor(text)
		if err != nil || c.Place > len(s.where) || c.Place < len(s.where) && c.Shard >= len(s.store.keys.at(s.where[c.Place])) {
			return cursor{}, fmt.Errorf("search %s: %.40q: %w: begin without one", s.store.opts.Topic, text, ErrNoCursor)
		}
		return c, nil
	}
	depths, err := s.store.Depths(ctx)
	if err != nil {
		return cursor{}, err
	}
	c := cursor{}
	for _, place := range s.where {
		switch place {
		case InPool:
			c.Of += depths.Pool
		case InReady:
			c.Of += depths.Ready
		case InRunning:
			c.Of += depths.Running
		case InDead:
			c.Of += depths.Dead
		}
	}
	return c, nil
}

// scan makes a step through pool or running.
func (s *Search) scan(ctx context.Context, place Place, c *cursor, found *Found) (ended bool, err error) {
	key := s.store.keys.at(place)[0]
	list, next, err := s.store.rdb.ZScan(ctx, key, c.Scan, "", c.scanCount()).Result()
	if err != nil {
		return false, fmt.Errorf("search %s: %w", s.store.opts.Topic, s.store.explain(ctx, err))
	}
	bytes := 0
	for i := 0; i+1 < len(list); i += 2 {
		bytes += len(list[i])
		if !s.query.may(list[i], s.store.opts) {
			continue
		}
		e := s.store.wire().entry(place, list[i])
		s.store.scored(&e, list[i+1])
		if s.matches(e) {
			found.Entries = append(found.Entries, e)
		}
	}
	c.Looked += int64(len(list) / 2)
	c.Scan = next
	c.Bytes = bytes * 2 / max(1, len(list))
	return next == 0, nil
}

// may reports whether a stored text can be of a job that q looks for. It costs next to nothing, and spares most texts from
// being read: PHP writes plain letters as they are. What a serializer or a record has wrapped shows nothing.
func (q Query) may(stored string, opts Options) bool {
	if opts.Encoding == EncodingAuto || strings.Contains(stored, "sidecar_raw") {
		return true
	}
	for _, word := range q.words() {
		if !strings.Contains(stored, word) {
			return false
		}
	}
	name := cmp.Or(q.UUID, q.Prefix)
	if name == "" || !plainJSON(name) || compat.IsSum(name) {
		return true
	}
	if sum, ok := strings.CutPrefix(q.UUID, recordName); ok && sumOf(stored) == sum {
		return true
	}
	return strings.Contains(stored, name)
}

// plainJSON reports whether a JSON string that holds s holds it letter for letter, whoever wrote it.
func plainJSON(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"\/<>&'`, c) >= 0 {
			return false
		}
	}
	return true
}

// matches reports whether all that the query asks for holds for e.
func (s *Search) matches(e Entry) bool {
	q := s.query
	switch {
	case q.UUID != "" && !e.IsNamed(q.UUID),
		q.Prefix != "" && (!e.Readable || !strings.HasPrefix(e.UUID, q.Prefix)),
		q.Type != "" && e.Type != q.Type,
		q.Error != "" && !strings.Contains(strings.ToLower(e.Error), q.Error),
		q.Like != "" && ErrorClass(e.Error) != q.Like,
		!q.Says(cmp.Or(e.Job, e.Stored)):
		return false
	}
	if q.Since.IsZero() && q.Until.IsZero() {
		return true
	}
	at, ok := s.time(e)
	return ok && (q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || !at.After(q.Until))
}

// time is what Since and Until are compared with.
func (s *Search) time(e Entry) (at time.Time, ok bool) {
	switch e.Place {
	case InPool:
		return e.Due.In(time.UTC), e.Due > 0
	case InDead:
		at, err := time.ParseInLocation(time.DateTime, e.At, s.loc)
		return at, err == nil
	case InReady, InRunning:
	}
	return time.Time{}, false
}
