package queue

import "context"

// Renew moves leases on, each only while it is ours. lost says of each whether somebody else holds the text
// now, or nobody. On an error lost is nil and what became of the leases (in profile list, of the acks) is not known:
// until a renewal is confirmed, settle with both.
func (s *Store) Renew(ctx context.Context, list []Renewal) (lost []bool, err error) {
	lost = make([]bool, 0, len(list))
	for part := range chunks(list, func(r Renewal) int { return len(r.Text) }) {
		args := make([]any, 0, 3*len(part))
		for _, r := range part {
			args = append(args, r.Text, string(r.Held), string(r.Next))
		}
		reply, err := s.list(ctx, "renew", len(part), renewScript, []string{s.keys.running}, args...)
		if err != nil {
			return nil, err
		}
		for i := range part {
			lost = append(lost, reply.number(i) == 0)
		}
	}
	if err := s.keepAcks(ctx, list, lost); err != nil {
		return nil, err
	}
	return lost, nil
}
