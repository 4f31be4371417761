package queue

import (
	"context"
	"slices"
)

// Requeue swaps each text for its new one, only under its own lease: into the pool at its delay from
// now, or to the head of ready, where several keep the order they have in list. A mark that does not say
// done is deleted in the same step. What becomes of a text whose running entry is gone: DESIGN 4.
//
// On an error the results of the calls that succeeded are there; the others have Settlement 0.
func (s *Store) Requeue(ctx context.Context, list []Requeueing) ([]SettleResult, error) {
	results := make([]SettleResult, len(list))
	if err := dropAcksOf(ctx, s, list, Requeueing.ackOf); err != nil {
		return results, err
	}
	size := func(r Requeueing) int { return len(r.Text) + len(r.NewText) }
	// The last ones go first, or the head of ready would end up in reverse.
	end := len(list)
	for _, part := range slices.Backward(slices.Collect(chunks(list, size))) {
		reply, err := s.requeue(ctx, part)
		if err != nil {
			return results, err
		}
		end -= len(part)
		for i := range part {
			results[end+i] = settled(reply[len(part)-1-i])
		}
	}
	return results, nil
}

// requeue makes the move for one part. Its reply begins with the last of them.
func (s *Store) requeue(ctx context.Context, part []Requeueing) (replies, error) {
	return s.move(ctx, "requeue", len(part), s.profile.requeue(s, part))
}
