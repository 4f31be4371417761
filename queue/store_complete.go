package queue

import "context"

// Complete ends jobs that are done: it removes each from running, only under its own lease, and
// marks its uuid as done in the same step, whoever holds the lease by now.
//
// Jobs whose lease is theirs alone, and that set no mark, are told by their leases: their texts would be most of the
// work that Redis has with them (docs/decisions/0016). Where running does not hold exactly what it should, nothing
// is removed by that, and the jobs go the way of the others.
//
// On an error the results of the calls that succeeded are there; the others have Settlement 0.
func (s *Store) Complete(ctx context.Context, list []Completion) ([]SettleResult, error) {
	results := make([]SettleResult, len(list))
	list, err := s.ackDone(ctx, list)
	if err != nil {
		return results, err
	}
	others, rows := rowsOf(list)
	for part := range chunks(rows, func(row) int { return 0 }) {
		refused, err := s.completeRows(ctx, list, part, results)
		if err != nil {
			return results, err
		}
		others = append(others, refused...)
	}
	for part := range chunks(others, func(i int) int { return len(list[i].Text) }) {
		if err := s.completeTexts(ctx, list, part, results); err != nil {
			return results, err
		}
	}
	return results, nil
}

// completeRows completes the jobs of whole rows and returns the indexes of those that were refused.
func (s *Store) completeRows(ctx context.Context, list []Completion, rows []row, results []SettleResult) (refused []int, err error) {
	args := make([]any, 0, 3*len(rows))
	for _, r := range rows {
		args = append(args, string(list[r[0]].Held), string(list[r[len(r)-1]].Held), len(r))
	}
	reply, err := s.list(ctx, "complete", len(rows), completeRowsScript, []string{s.keys.running}, args...)
	if err != nil {
		return nil, err
	}
	for k, r := range rows {
		if reply.number(k) == 0 {
			refused = append(refused, r...)
			continue
		}
		for _, i := range r {
			results[i].Settlement = Settled
		}
	}
	return refused, nil
}

// completeTexts completes the jobs with those indexes by their texts.
func (s *Store) completeTexts(ctx context.Context, list []Completion, indexes []int, results []SettleResult) error {
	keys := []string{s.keys.running}
	args := make([]any, 0, 2+4*len(indexes))
	args = append(args, markDone, markTTL)
	for _, i := range indexes {
		c := &list[i]
		var mark int
		keys, mark = s.withMark(keys, c.UUID)
		// By their addresses, as a text in an any is one more allocation, and this is a busy call.
		args = append(args, &c.Text, (*string)(&c.Held), (*string)(&c.Next), mark)
	}
	reply, err := s.list(ctx, "complete", len(indexes), completeScript, keys, args...)
	if err != nil {
		return err
	}
	for k, i := range indexes {
		results[i] = settled(reply[k])
	}
	return nil
}
