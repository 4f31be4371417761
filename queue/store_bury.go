package queue

import "context"

// Bury swaps each text for its dead record, only under its own lease, and deletes a mark that does not say
// done. What becomes of a text whose running entry is gone: DESIGN 4.
//
// On an error the results are complete up to the call that failed; the others have Settlement 0.
func (s *Store) Bury(ctx context.Context, list []Burial) ([]SettleResult, error) {
	results := make([]SettleResult, 0, len(list))
	if err := dropAcksOf(ctx, s, list, Burial.ackOf); err != nil {
		return make([]SettleResult, len(list)), err
	}
	for part := range chunks(list, func(b Burial) int { return len(b.Text) + len(b.Record) }) {
		reply, err := s.move(ctx, "bury", len(part), s.profile.bury(s, part))
		if err != nil {
			return append(results, make([]SettleResult, len(list)-len(results))...), err
		}
		for i := range part {
			results = append(results, settled(reply[i]))
		}
	}
	return results, nil
}
