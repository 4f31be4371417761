package queue

import "context"

// Promote moves due texts from pool to ready, oldest first and at most Batch. It moves nothing while
// ready holds ReadyMax texts or more.
func (s *Store) Promote(ctx context.Context) (Promotion, error) {
	reply, err := s.list(ctx, "promote", 3, promoteScript, []string{s.keys.Pool, s.keys.Ready}, s.opts.Batch, s.opts.ReadyMax, s.unit)
	if err != nil {
		return Promotion{}, err
	}
	p := Promotion{Now: reply.time(0), Promoted: int(reply.number(1))}
	if p.Promoted < 0 {
		return Promotion{Now: p.Now, Backpressure: true}, nil
	}
	p.Next = s.due(reply.text(2))
	p.OldestScore = reply.text(4)
	for i := 3; i+1 < len(reply); i += 2 {
		p.Due = append(p.Due, Due{Text: reply.text(i), At: s.due(reply.text(i + 1))})
	}
	return p, nil
}
