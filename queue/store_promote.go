package queue

import "context"

// Promote moves due texts from pool to ready, oldest first and at most Batch. It moves nothing while
// ready holds ReadyMax texts or more; a list has no such limit.
func (s *Store) Promote(ctx context.Context) (Promotion, error) {
	return s.promote(ctx, s.profile.promote(s, s.opts.Batch))
}

// promoteNone is Promote for a topic that is to be still: it moves nothing and reads the rest.
func (s *Store) promoteNone(ctx context.Context) (Promotion, error) {
	return s.promote(ctx, s.profile.promote(s, 0))
}

func (s *Store) promote(ctx context.Context, m move) (Promotion, error) {
	reply, err := s.move(ctx, "promote", 3, m)
	if err != nil {
		return Promotion{}, err
	}
	p := Promotion{Now: reply.time(0), Promoted: int(reply.number(1))}
	if p.Promoted < 0 {
		return Promotion{Now: p.Now, Backpressure: true}, nil
	}
	p.NextScore = reply.text(2)
	p.Next = s.due(p.NextScore)
	p.OldestScore = reply.text(4)
	for i := 3; i+1 < len(reply); i += 2 {
		p.Due = append(p.Due, Due{Text: reply.text(i), At: s.due(reply.text(i + 1))})
	}
	return p, nil
}
