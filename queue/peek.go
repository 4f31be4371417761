package queue

import (
	"context"
	"fmt"
)

// Page asks for some of a place's entries.
type Page struct {
	Offset int64 // how many texts of the place to pass over
	Limit  int64 // how many entries at most: 1 to 500
}

// Peeked is a page of one place.
type Peeked struct {
	Entries []Entry
	Total   int64      // texts in the place; of a dead letter list those of all lists that share it
	Next    int64      // the Offset of the next page; 0: this is the last one
	Now     ServerTime // when; 0 of an Offset behind everything in a list's ready
}

// peekLooks bounds how many stretches one page goes through to find a list's own letters among others'.
const peekLooks = 10

// Peek reads one page of a place: of pool by due time, of running by the end of the lease, of ready the oldest first
// (of a list shard by shard), of dead the newest first. Of a dead letter list that several lists share it shows those that are
// this list's; a page may then hold fewer than Limit, or none, and still have a Next. Where texts are large a page is short, too.
// It changes nothing, and each of its commands is bounded.
func (s *Store) Peek(ctx context.Context, place Place, page Page) (Peeked, error) {
	if page.Limit < 1 || page.Limit > windowMost || page.Offset < 0 {
		return Peeked{}, fmt.Errorf("peek %s: offset %d, limit %d: want an offset from 0 on and a limit of 1 to %d", s.opts.Topic, page.Offset, page.Limit, windowMost)
	}
	switch place {
	case InPool, InRunning:
		return s.peekOne(ctx, place, byScore, page)
	case InReady:
		return s.peekReady(ctx, page)
	case InDead:
		if s.opts.List != nil {
			return s.peekLetters(ctx, page)
		}
		return s.peekOne(ctx, place, s.newest(place), page)
	}
	return Peeked{}, fmt.Errorf("peek %s: place %q: want one of %q", s.opts.Topic, string(place), Places())
}

// peekOne reads a page of a place that is one key.
func (s *Store) peekOne(ctx context.Context, place Place, from end, page Page) (Peeked, error) {
	w, err := s.stretch(ctx, s.keys.at(place)[0], from, page.Offset, page.Limit)
	if err != nil {
		return Peeked{}, err
	}
	p := Peeked{Total: w.total, Now: w.now}
	if p.Entries, err = s.entries(ctx, place, 0, from, page.Offset, w); err != nil {
		return Peeked{}, err
	}
	if next := page.Offset + int64(len(w.texts)); next < w.total && len(w.texts) > 0 {
		p.Next = next
	}
	return p, nil
}

// entries are those of a stretch that begins behind the first texts from an end on.
func (s *Store) entries(ctx context.Context, place Place, shard int, from end, first int64, w stretch) ([]Entry, error) {
	list := make([]Entry, 0, len(w.texts))
	reasons := s.newReasons()
	for i := range w.texts {
		e, own, err := s.entryAt(ctx, place, shard, from, first, i, w, reasons)
		if err != nil {
			return nil, err
		}
		if own {
			list = append(list, e)
		}
	}
	return list, nil
}

// entryAt reads the i-th entry of a stretch. own is false where a dead letter is another list's.
func (s *Store) entryAt(ctx context.Context, place Place, shard int, from end, first int64, i int, w stretch, reasons *reasons) (e Entry, own bool, err error) {
	switch {
	case place != InDead:
		e = s.wire().entry(place, w.texts[i])
	case s.opts.List == nil:
		e = s.wire().deadEntry(s.wire().deadRecord(w.texts[i]))
	default:
		d, err := s.deadLetter(ctx, w.texts[i], reasons)
		if err != nil || d == nil {
			return Entry{}, false, err
		}
		e = s.wire().deadEntry(*d)
	}
	e.Shard = shard
	e.Index, e.Length = from.index(first+int64(i), w.total), w.total
	if from == byScore {
		s.scored(&e, w.scores[i])
	}
	return e, true, nil
}

// peekReady reads a page of ready, which in a list is all its shards one behind the other.
func (s *Store) peekReady(ctx context.Context, page Page) (Peeked, error) {
	from := s.newest(InReady).other()
	if len(s.keys.ready) == 1 {
		return s.peekOne(ctx, InReady, from, page)
	}
	depths, err := s.Depths(ctx)
	if err != nil {
		return Peeked{}, err
	}
	p := Peeked{Total: depths.Ready, Now: depths.Now}
	first, limit := page.Offset, page.Limit
	for shard, length := range depths.Shards {
		if first >= length {
			first -= length
			continue
		}
		w, err := s.stretch(ctx, s.keys.ready[shard], from, first, limit)
		if err != nil {
			return Peeked{}, err
		}
		list, err := s.entries(ctx, InReady, shard, from, first, w)
		if err != nil {
			return Peeked{}, err
		}
		p.Entries = append(p.Entries, list...)
		limit -= int64(len(w.texts))
		if read := first + int64(len(w.texts)); limit < 1 || read < length {
			break // the page is full, or these are large
		}
		first = 0
	}
	if next := page.Offset + int64(len(p.Entries)); next < p.Total && len(p.Entries) > 0 {
		p.Next = next
	}
	return p, nil
}

// peekLetters reads a page of the letters that are this list's.
func (s *Store) peekLetters(ctx context.Context, page Page) (Peeked, error) {
	reasons, at := s.newReasons(), page.Offset
	var p Peeked
	for look := range peekLooks {
		n := page.Limit // mostly they are all its own
		if look > 0 {
			n = windowMost
		}
		w, err := s.stretch(ctx, s.keys.dead, fromHead, at, n)
		if err != nil {
			return Peeked{}, err
		}
		p.Total, p.Now, p.Next = w.total, w.now, 0
		for i := range w.texts {
			e, own, err := s.entryAt(ctx, InDead, 0, fromHead, at, i, w, reasons)
			if err != nil {
				return Peeked{}, err
			}
			if !own {
				continue
			}
			if p.Entries = append(p.Entries, e); int64(len(p.Entries)) == page.Limit {
				p.Next = at + int64(i) + 1
				if p.Next >= w.total {
					p.Next = 0
				}
				return p, nil
			}
		}
		if at += int64(len(w.texts)); at >= w.total || len(w.texts) == 0 {
			return p, nil
		}
		p.Next = at
	}
	return p, nil
}
