package queue

import "context"

// Depths reads how many texts lie in each key, and how old the oldest due one is.
func (s *Store) Depths(ctx context.Context) (Depths, error) {
	keys := append([]string{s.keys.pool, s.keys.running, s.keys.dead}, s.keys.ready...)
	reply, err := s.list(ctx, "read depths of", 7+len(s.keys.ready), depthsScript, keys, s.unit)
	if err != nil {
		return Depths{}, err
	}
	d := Depths{
		Now:         reply.time(0),
		Pool:        reply.number(1),
		Due:         reply.number(2),
		Running:     reply.number(3),
		Dead:        reply.number(4),
		OldestScore: reply.text(5),
		LatestScore: reply.text(6),
	}
	for i := range s.keys.ready {
		n := reply.number(7 + i)
		d.Ready += n
		if s.opts.List != nil {
			d.Shards = append(d.Shards, n)
		}
	}
	if d.Due > 0 {
		// A score that is no time of this age (0 for at once) says nothing about waiting.
		if at := s.due(d.OldestScore); at > always && SuspectUnit(d.OldestScore, s.opts.ScoreUnit, d.Now) == "" {
			d.OldestDueAge = max(0, d.Now.Sub(at))
		}
	}
	return d, nil
}
