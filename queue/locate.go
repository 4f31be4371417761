package queue

import "context"

// rings are how far to both sides of where a text was seen it is looked for, one after the other.
var rings = []int64{16, 250, 1500}

// locate returns the index of the text with that sum in a list, near where it was seen: at index of length. Lists grow and
// shrink at both ends, so it may have kept its distance from either. It is ErrNotThere when it is at neither.
func (s *Store) locate(ctx context.Context, key, sum string, index, length int64) (int64, error) {
	for _, ring := range rings {
		at, _, err := s.around(ctx, key, fromHead, sum, index, ring)
		if err != nil || at >= 0 {
			return at, err
		}
		at, now, err := s.around(ctx, key, fromTail, sum, length-1-index, ring)
		if err != nil {
			return 0, err
		}
		if at >= 0 {
			return now - 1 - at, nil
		}
	}
	return 0, ErrNotThere
}

// around looks for the text with that sum among those around the n-th from an end on, and returns the nearest one's number from that
// end, or -1, and the length of the list.
func (s *Store) around(ctx context.Context, key string, from end, sum string, n, ring int64) (at, length int64, err error) {
	at = -1
	for first, until := max(0, n-ring), n+ring+1; first < until; {
		w, err := s.stretch(ctx, key, from, first, until-first)
		if err != nil {
			return 0, 0, err
		}
		for i, text := range w.texts {
			if here := first + int64(i); sumOf(text) == sum && (at < 0 || distance(here, n) < distance(at, n)) {
				at = here
			}
		}
		if length = w.total; len(w.texts) == 0 {
			break
		}
		first += int64(len(w.texts))
	}
	return at, length, nil
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
