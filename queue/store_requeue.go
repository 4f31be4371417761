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

// requeue runs the script for one part. Its reply begins with the last of them.
func (s *Store) requeue(ctx context.Context, part []Requeueing) (replies, error) {
	keys := []string{s.keys.Running, s.keys.Pool, s.keys.Ready}
	args := make([]any, 0, 2+8*len(part))
	args = append(args, markDone, s.unit)
	for _, r := range part {
		var mark int
		keys, mark = s.withMark(keys, r.UUID)
		args = append(args, r.Text, string(r.Held), string(r.Next), r.NewText,
			max(0, r.Delay.Milliseconds()), flag(r.ToReady), mark, flag(r.Expired))
	}
	return s.list(ctx, "requeue", len(part), requeueScript, keys, args...)
}
