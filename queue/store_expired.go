package queue

import "context"

// Expired reads up to n claims whose lease has ended, the longest ended first, and Redis's time. They
// are settled like living ones, by Requeue and Bury under the lease that was read, so
// whoever renews or settles one first wins.
func (s *Store) Expired(ctx context.Context, n int) ([]Claim, ServerTime, error) {
	reply, err := s.list(ctx, "expire", 1, expiredScript, []string{s.keys.running}, max(0, n))
	if err != nil {
		return nil, 0, err
	}
	var list []Claim
	for i := 1; i+1 < len(reply); i += 2 {
		list = append(list, Claim{Text: reply.text(i), Lease: Lease(reply.text(i + 1))})
	}
	return list, reply.time(0), nil
}
