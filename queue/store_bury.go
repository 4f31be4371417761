package queue

import "context"

// Bury swaps each text for its dead record, only under its own lease, and deletes a mark that does not say
// done. What becomes of a text whose running entry is gone: DESIGN 4.
//
// On an error the results are complete up to the call that failed; the others have Settlement 0.
func (s *Store) Bury(ctx context.Context, list []Burial) ([]SettleResult, error) {
	results := make([]SettleResult, 0, len(list))
	for part := range chunks(list, func(b Burial) int { return len(b.Text) + len(b.Record) }) {
		keys := []string{s.keys.Running, s.keys.Dead, s.keys.Pool}
		args := make([]any, 0, 1+6*len(part))
		args = append(args, markDone)
		for _, b := range part {
			var mark int
			keys, mark = s.withMark(keys, b.UUID)
			args = append(args, b.Text, string(b.Held), string(b.Next), b.Record, mark, flag(b.Expired))
		}
		reply, err := s.list(ctx, "bury", len(part), buryScript, keys, args...)
		if err != nil {
			return append(results, make([]SettleResult, len(list)-len(results))...), err
		}
		for i := range part {
			results = append(results, settled(reply[i]))
		}
	}
	return results, nil
}
