package queue

import (
	"context"
	"hash/crc32"
)

const (
	// overlap is how many texts that were looked at already a step through a list reads again, at most, and marksKept
	// of how many of these it knows the sums: by them it sees whether, and how far, the list has moved meanwhile.
	overlap   = 100
	marksKept = 8

	// restartsMost bounds how often a list that moved further than that is walked from its end again.
	restartsMost = 10
)

// walk makes a step through a list. Whatever comes in at the end where the walk began, or is taken away from what was
// walked already, moves the texts that are still to come: so each step finds its place by the texts it knows.
func (s *Search) walk(ctx context.Context, place Place, c *cursor, found *Found) (ended bool, err error) {
	from := s.store.newest(place)
	if s.query.Oldest {
		from = from.other()
	}
	key := s.store.keys.at(place)[c.Shard]
	first, fresh, w, err := s.goOn(ctx, key, from, c)
	if err != nil {
		return false, err
	}
	found.Now = w.now
	if fresh < 0 {
		if c.Restarts++; c.Restarts <= restartsMost {
			c.At, c.Back, c.Marks = 0, 0, nil
			return false, nil
		}
		c.Unsure, fresh = true, 0
	}
	if err := s.pick(ctx, place, c, from, first, fresh, w, found); err != nil {
		return false, err
	}
	c.Looked += int64(len(w.texts) - fresh)
	c.At, c.Length = first+int64(len(w.texts)), w.total
	c.remember(w.texts)
	return c.At >= w.total || len(w.texts) == 0, nil
}

// goOn reads what comes next, from the first text on, and says how many of it were looked at already: -1 when the list
// has moved so far that none is known.
func (s *Search) goOn(ctx context.Context, key string, from end, c *cursor) (first int64, fresh int, w stretch, err error) {
	first = max(0, c.At-int64(c.Back))
	for range 2 {
		if w, err = s.store.stretch(ctx, key, from, first, windowMost); err != nil {
			return 0, 0, stretch{}, err
		}
		if fresh, ok := c.placeIn(w.texts); ok {
			return first, fresh, w, nil
		}
		// Whoever takes what it finds makes the walked part shorter, by just as much as the list.
		moved := max(0, first+w.total-c.Length)
		if moved == first {
			break
		}
		first = moved
	}
	return first, -1, w, nil
}

// pick adds those of a stretch that are looked for, from the fresh ones on.
func (s *Search) pick(ctx context.Context, place Place, c *cursor, from end, first int64, fresh int, w stretch, found *Found) error {
	s.reasons.again()
	for i := fresh; i < len(w.texts); i++ {
		if !s.query.may(w.texts[i], s.store.opts) {
			continue
		}
		e, own, err := s.store.entryAt(ctx, place, c.Shard, from, first, i, w, s.reasons)
		if err != nil {
			return err
		}
		if own && s.matches(e) {
			found.Entries = append(found.Entries, e)
		}
	}
	return nil
}

// placeIn returns how many of texts were looked at already. ok is false when none of those that are known is among them.
func (c *cursor) placeIn(texts []string) (fresh int, ok bool) {
	if len(c.Marks) == 0 {
		return 0, true
	}
	begin := -1 // where the first known text lies: of equal ones the first, so that rather one is looked at twice
	marks := c.Marks
	if at := c.Back - len(marks); at >= 0 && at < len(texts) && markOf(texts[at]) == marks[0] {
		begin = at // nothing has moved
	}
	for ; begin < 0 && len(marks) > 0; marks = marks[1:] {
		for i, text := range texts {
			if markOf(text) == marks[0] {
				begin = i
				break
			}
		}
		if begin >= 0 {
			break
		}
	}
	if begin < 0 {
		return 0, false
	}
	for _, mark := range marks { // those that are missing were taken away
		if begin < len(texts) && markOf(texts[begin]) == mark {
			begin++
		}
	}
	return begin, true
}

// remember notes the last texts looked at.
func (c *cursor) remember(texts []string) {
	c.Back = min(overlap, len(texts)/4)
	c.Marks = nil
	for _, text := range texts[len(texts)-min(marksKept, c.Back):] {
		c.Marks = append(c.Marks, markOf(text))
	}
}

func markOf(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }
