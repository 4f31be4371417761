package queue

import "context"

// Complete ends jobs that are done: it removes each from running, only under its own lease, and
// marks its uuid as done in the same step, whoever holds the lease by now.
//
// On an error the results are complete up to the call that failed; the others have Settlement 0.
func (s *Store) Complete(ctx context.Context, list []Completion) ([]SettleResult, error) {
	results := make([]SettleResult, 0, len(list))
	for part := range chunks(list, func(c Completion) int { return len(c.Text) }) {
		keys := []string{s.keys.Running}
		args := make([]any, 0, 2+4*len(part))
		args = append(args, markDone, markTTL)
		for i := range part {
			c := &part[i]
			var mark int
			keys, mark = s.withMark(keys, c.UUID)
			// By their addresses, as a text in an any is one more allocation, and this is the busiest of calls.
			args = append(args, &c.Text, (*string)(&c.Held), (*string)(&c.Next), mark)
		}
		reply, err := s.list(ctx, "complete", len(part), completeScript, keys, args...)
		if err != nil {
			return append(results, make([]SettleResult, len(list)-len(results))...), err
		}
		for i := range part {
			results = append(results, settled(reply[i]))
		}
	}
	return results, nil
}
