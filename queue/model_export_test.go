package queue

import (
	"context"
	"log/slog"
	"time"

	"sidecar/compat"
)

// Steps is a Consumer without its goroutines: what they do by themselves, a test does one step at a time, and in
// the order it likes. Each method is the body of one of their loops, waiting left out.
type Steps struct{ *flow }

// Held is a claim in hand.
type Held = held

// Text returns the claimed text.
func (h *held) Text() string { return h.text }

// Lease returns the lease it was claimed under, or the last one that was confirmed.
func (h *held) Lease() Lease { return h.leases[0] }

// NewSteps returns the steps of a Consumer of opts.Topic.
func NewSteps(opts Options, store *Store, metrics *Metrics) *Steps {
	log := slog.New(slog.DiscardHandler)
	hands, m := &hands{}, metrics.topic(opts.Topic)
	f := newFlow(opts, Parts{Store: store, Outages: NewOutages(log), Timezone: time.UTC, Log: log}, newBrake(opts, time.UTC, m, log), hands, newReadyHead(), m)
	hands.add(f.keeper)
	return &Steps{f}
}

// At sets what the Consumer takes for Redis's time.
func (s *Steps) At(now ServerTime) { s.scanner.clock.set(now, time.Now()) }

// Promote is the Scanner's look at the pool.
func (s *Steps) Promote(ctx context.Context) error {
	_, err := s.scanner.scanOnce(ctx, false)
	return err
}

// Expire is the Scanner's look at running.
func (s *Steps) Expire(ctx context.Context) error {
	_, err := s.scanner.expiry.expireOnce(ctx)
	return err
}

// Claim is the Feeder's: it returns the jobs whose runs begin. When take ends before, they go back.
func (s *Steps) Claim(take context.Context, n int) ([]*Held, error) {
	claims, err := s.feeder.claim(take, n)
	return s.feeder.intake.sort(take, claims), err
}

// End is what a worker does when the run of h has come to o.
func (s *Steps) End(h *Held, o compat.Outcome) { s.worker.settle(context.Background(), h, o) }

// Renew is the Keeper's tick.
func (s *Steps) Renew(ctx context.Context) error { return s.keeper.renewOnce(ctx) }

// Pending counts the verdicts of one action that wait for their write.
func (s *Steps) Pending(action Action) int { return len(s.settler.groups[action].pending) }

// Offer is the Settler's: it writes what is pending of one action, once.
func (s *Steps) Offer(ctx context.Context, action Action) {
	g := s.settler.groups[action]
	g.putBack(s.settler.offer(ctx, g, g.next()))
}

// Leases returns, by text, every score that the entries of the claims in hand may have.
func (s *Steps) Leases() map[string][]Lease {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	leases := make(map[string][]Lease)
	for h := range k.held {
		leases[h.text] = append(leases[h.text], h.leases...)
	}
	return leases
}
