package queue

import "context"

const (
	// maxClaim bounds one call of the claim script.
	maxClaim = 500

	// claimBytes ends a claim: the text that reaches it is the last.
	claimBytes = 1 << 20
)

// Claim takes up to n texts, the oldest of ready, all under one lease of the topic's length, and no more once they
// come to about 1 MB. A text whose twin
// runs, or which is in ready twice, goes to the pool until the twin's lease ends, so that
// copies do not overlap. With n = 0 it goes the same way, keys and rights included, and moves nothing: a
// probe that tells whether claiming works.
//
// Once it is sent, a cancelled ctx does not cut it short: nobody would hold what it took.
func (s *Store) Claim(ctx context.Context, n int) (Claims, error) {
	n = max(0, min(n, maxClaim))
	keys := []string{s.keys.Ready, s.keys.Running, s.keys.Pool}
	reply, err := s.list(ctx, "claim", 4, claimScript, keys, n, s.opts.Lease.Milliseconds(), s.unit, claimBytes)
	if err != nil {
		return Claims{}, err
	}
	c := Claims{Now: reply.time(0), Twins: int(reply.number(2)), Merged: int(reply.number(3))}
	lease := Lease(reply.text(1))
	bytes := 0
	for i := 4; i < len(reply); i++ {
		c.List = append(c.List, Claim{Text: reply.text(i), Lease: lease})
		bytes += len(reply.text(i))
	}
	// Of copies that were put off nobody says how long they were.
	c.More = n > 0 && (len(c.List)+c.Twins >= n || bytes >= claimBytes || c.Twins > 0)
	return c, nil
}
