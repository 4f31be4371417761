package queue

import (
	"context"
	"fmt"
	"strconv"
)

const (
	// maxClaim bounds one call of the claim script.
	maxClaim = 500

	// claimBytes ends a claim: the text that reaches it is the last.
	claimBytes = 1 << 20
)

// Claim takes up to n texts, the oldest of ready (in profile list the next of each shard in turn), each under a lease of its own of the topic's length, and no more
// once they come to about 1 MB. A text whose twin runs, or which is in ready twice, goes to the pool until the twin's
// lease ends, so that copies do not overlap. With n = 0 it goes the same way, keys and rights included, and moves
// nothing: a probe that tells whether claiming works.
//
// Once it is sent, a cancelled ctx does not cut it short: nobody would hold what it took.
func (s *Store) Claim(ctx context.Context, n int) (Claims, error) {
	n = max(0, min(n, maxClaim))
	breaks := s.breaks.Load()
	reply, err := s.move(ctx, "claim", 4, s.profile.claim(s, n))
	if err != nil {
		return Claims{}, err
	}
	c := Claims{breaks: breaks, Now: reply.time(0), Twins: int(reply.number(2)), Merged: int(reply.number(3))}
	if len(reply) == 4 {
		return c, nil
	}
	first, err := strconv.ParseFloat(reply.text(1), 64)
	if err != nil {
		return c, fmt.Errorf("claim %s: want a lease from the script, got %q", s.opts.Topic, reply.text(1))
	}
	c.List = make([]Claim, 0, len(reply)-4)
	bytes := 0
	for i, entry := range reply[4:] {
		if text, ok := entry.(string); ok { // else a twin that was put off
			c.List = append(c.List, Claim{Text: text, Lease: leaseOf(first + float64(i)*leaseStep), Sole: true})
			bytes += len(text)
		}
	}
	// Of copies that were put off nobody says how long they were.
	c.More = n > 0 && (len(c.List)+c.Twins >= n || bytes >= claimBytes || c.Twins > 0)
	return c, nil
}
