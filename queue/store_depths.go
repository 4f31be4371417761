package queue

import "context"

// Depths reads how many texts lie in each key, and how old the oldest due one is.
func (s *Store) Depths(ctx context.Context) (Depths, error) {
	keys := []string{s.keys.Pool, s.keys.Ready, s.keys.Running, s.keys.Dead}
	reply, err := s.list(ctx, "read depths of", 8, depthsScript, keys, s.unit)
	if err != nil {
		return Depths{}, err
	}
	d := Depths{
		Now:         reply.time(0),
		Pool:        reply.number(1),
		Due:         reply.number(2),
		Ready:       reply.number(3),
		Running:     reply.number(4),
		Dead:        reply.number(5),
		OldestScore: reply.text(6),
		LatestScore: reply.text(7),
	}
	if d.Due > 0 {
		// A score that is no time of this age (0 for at once) says nothing about waiting.
		if at := s.due(d.OldestScore); at > always && SuspectUnit(d.OldestScore, s.opts.ScoreUnit, d.Now) == "" {
			d.OldestDueAge = max(0, d.Now.Sub(at))
		}
	}
	return d, nil
}
