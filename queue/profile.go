package queue

// profile is where topics of profile delay and of profile list differ (docs/decisions/0005, 0017): for each move the
// script that makes it, and what the script is told. Replies have one form, so that everything else exists once.
type profile struct {
	promote func(s *Store, batch int) move
	claim   func(s *Store, n int) move
	requeue func(s *Store, part []Requeueing) move
	bury    func(s *Store, part []Burial) move
}

// move is one call of a script.
type move struct {
	script script
	keys   []string
	args   []any
}

// delayProfile is CONTRACT 1.
var delayProfile = profile{
	promote: func(s *Store, batch int) move {
		return move{promoteScript, []string{s.keys.pool, s.keys.ready[0]}, []any{batch, s.opts.ReadyMax, s.unit}}
	},
	claim: func(s *Store, n int) move {
		keys := []string{s.keys.ready[0], s.keys.running, s.keys.pool}
		return move{claimScript, keys, []any{n, s.opts.Lease.Milliseconds(), s.unit, claimBytes}}
	},
	requeue: func(s *Store, part []Requeueing) move {
		keys := []string{s.keys.running, s.keys.pool, s.keys.ready[0]}
		args := make([]any, 0, 2+8*len(part))
		args = append(args, markDone, s.unit)
		for _, r := range part {
			var mark int
			keys, mark = s.withMark(keys, r.UUID)
			args = append(args, r.Text, string(r.Held), string(r.Next), r.NewText,
				max(0, r.Delay.Milliseconds()), flag(r.ToReady), mark, flag(r.Expired))
		}
		return move{requeueScript, keys, args}
	},
	bury: func(s *Store, part []Burial) move {
		keys := []string{s.keys.running, s.keys.dead, s.keys.pool}
		args := make([]any, 0, 1+6*len(part))
		args = append(args, markDone)
		for _, b := range part {
			var mark int
			keys, mark = s.withMark(keys, b.UUID)
			args = append(args, b.Text, string(b.Held), string(b.Next), b.Record, mark, flag(b.Expired))
		}
		return move{buryScript, keys, args}
	},
}

// reasonsKept is how many dead letters keep their reason: there are more only where nobody looks at them.
const reasonsKept = 10_000

// listProfile is CONTRACT 2. Its jobs have no marks here: acks may lie on other nodes of a Cluster.
var listProfile = profile{
	promote: func(s *Store, batch int) move { return s.promoteList(batch, false) },
	claim: func(s *Store, n int) move {
		id, turn := s.calls.next()
		keys := append([]string{s.keys.running}, s.keys.ready...)
		return move{claimListScript, keys, []any{n, s.opts.Lease.Milliseconds(), claimBytes, s.takenFrom(), id, turn}}
	},
	requeue: func(s *Store, part []Requeueing) move {
		keys := append([]string{s.keys.running, s.keys.pool}, s.keys.ready...)
		args := make([]any, 0, 1+7*len(part))
		args = append(args, s.takenFrom())
		for _, r := range part {
			args = append(args, r.Text, string(r.Held), string(r.Next), r.NewText,
				max(0, r.Delay.Milliseconds()), flag(r.ToReady), flag(r.Expired))
		}
		return move{requeueListScript, keys, args}
	},
	bury: func(s *Store, part []Burial) move {
		args := make([]any, 0, 1+5*len(part))
		args = append(args, reasonsKept)
		for _, b := range part {
			args = append(args, b.Text, string(b.Held), string(b.Next), b.Record, flag(b.Expired))
		}
		return move{buryListScript, []string{s.keys.running, s.keys.dead, s.keys.reasons}, args}
	},
}

// promoteList moves what waits in a list's pool to its shards: what is due, or all of it.
func (s *Store) promoteList(batch int, all bool) move {
	return move{promoteListScript, append([]string{s.keys.pool}, s.keys.ready...), []any{batch, flag(all)}}
}

// takenFrom is the end of a list that its jobs are taken from.
func (s *Store) takenFrom() string {
	if s.opts.List.Order == LIFO {
		return "LEFT"
	}
	return "RIGHT"
}
