package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Keeper holds the claims in hand and renews their leases, all in one call a tick, until they are settled.
type Keeper struct {
	store   *Store
	lease   time.Duration
	clock   *serverClock
	metrics *topicMetrics
	trouble *trouble
	log     *slog.Logger
	at      *station

	mu   sync.Mutex // guards what follows, and the Keeper's part of each held
	held map[*held]struct{}
	seq  uint64
}

func newKeeper(store *Store, lease time.Duration, clock *serverClock, metrics *topicMetrics, trouble *trouble, log *slog.Logger) *Keeper {
	return &Keeper{
		store: store, lease: lease, clock: clock, metrics: metrics, log: log,
		trouble: trouble,
		held:    make(map[*held]struct{}),
		at:      newStation(),
	}
}

// Run renews until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	for k.at.at(resting); pause(ctx, k.lease/3); k.at.at(resting) {
		k.at.at(renewing)
		k.round(ctx)
	}
}

// round renews until that has worked.
func (k *Keeper) round(ctx context.Context) {
	began := time.Now()
	for again := (backoff{most: patienceAfter(k.lease)}); ; again.wait(ctx) {
		if err := k.renewOnce(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if time.Since(began) >= k.lease/6 {
		// What was confirmed just now was asked for some time ago: it may end soon, or have ended on the way.
		_ = k.renewOnce(ctx) // it has noted its own error
	}
}

// patienceAfter bounds the wait after an outage until claims under such a lease are renewed and settled: the other
// consumers leave them a third of it.
func patienceAfter(lease time.Duration) time.Duration { return min(time.Second, lease/6) }

// renewOnce moves on all leases in hand. With nothing to ask it says nothing about Redis.
func (k *Keeper) renewOnce(ctx context.Context) error {
	owners, renewals := k.renewals()
	if len(renewals) == 0 {
		k.trouble.drop(ctx)
		return nil
	}
	lost, err := k.store.Renew(ctx, renewals)
	k.trouble.note(ctx, err)
	if err != nil {
		return err
	}
	k.confirm(ctx, owners, renewals, lost)
	return nil
}

// renewals lists what to ask for. Of a claim whose lease is in doubt, each of its possible leases is
// asked to move to the same next one: at most one of them is the entry's score, and those after it find
// the entry moved already, which counts as done. So the answer to the last is the answer for the claim.
//
// Two claims of one text, of which the first was taken away, ask for leases of their own: or the first would find the
// second's lease to be its own, and settle under it.
func (k *Keeper) renewals() (owners []*held, renewals []Renewal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.now()
	apart := make(map[string]time.Duration) // by text, what the next claim of it asks for beyond the lease
	for h := range k.held {
		if h.lost || h.writing {
			continue
		}
		if len(h.leases) == 1 || h.aimed <= now {
			h.aimed = renewedTo(now.Add(k.lease + apart[h.text]))
			apart[h.text] += renewalStep
			h.leases = append(h.leases, leaseAt(h.aimed))
		}
		next := h.leases[len(h.leases)-1]
		for _, lease := range h.leases[:len(h.leases)-1] {
			owners = append(owners, h)
			renewals = append(renewals, Renewal{Text: h.text, Held: lease, Next: next, UUID: h.job.UUID()})
		}
	}
	return owners, renewals
}

// confirm takes the answers, which are for the claim when they are for its last renewal.
func (k *Keeper) confirm(ctx context.Context, owners []*held, renewals []Renewal, lost []bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, h := range owners {
		last := i == len(owners)-1 || owners[i+1] != h
		if _, inHand := k.held[h]; !last || !inHand {
			continue
		}
		if lost[i] {
			k.loseLocked(ctx, h)
			continue
		}
		if h.aimed <= k.clock.now() {
			continue // too late to be set: Redis answered that it is ours, under whichever lease
		}
		h.leases = []Lease{renewals[i].Next}
		h.ends = h.aimed
	}
}

// loseLocked notes that h's lease is not ours any more. Its run goes on: stopping PHP code in the middle
// helps nobody, and settling will change nothing.
func (k *Keeper) loseLocked(ctx context.Context, h *held) {
	if h.lost {
		return
	}
	h.lost = true
	h.leases = h.leases[:1] // those asked for were never set: a script must not take one for a lease that still runs
	if !h.settled {         // else its settlement has most likely run and only the reply is missing: the Settler finds out
		k.reportLostLocked(ctx, h)
	}
}

// settledLost notes that a settlement found the lease in somebody else's hands. One that is uncertain has
// most likely run, and found an identical text that was claimed since: nothing was lost then.
func (k *Keeper) settledLost(ctx context.Context, one *settlement) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !one.skipGone && !one.claim.lost {
		k.reportLostLocked(ctx, one.claim)
	}
}

func (k *Keeper) reportLostLocked(ctx context.Context, h *held) {
	k.metrics.lost.Inc()
	log := k.log.With("uuid", h.job.PlainUUID())
	if h.ends > k.clock.now() {
		log.WarnContext(ctx, "lease lost before its end: some consumer of this topic trusts its own clock, or running was changed by hand")
		return
	}
	log.WarnContext(ctx, "lease lost")
}

// inHandOf is a claim as the handler sees it.
type inHandOf struct {
	keeper *Keeper
	held   *held
}

// Lapsed reports that the lease has ended and no renewal was confirmed, or that nothing is to begin any more. It compares
// with Redis's time as it goes on here, so that it is true at once in a process that stood still.
func (c inHandOf) Lapsed() bool {
	if c.held.recalled() {
		return true
	}
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	return c.held.lost || c.held.ends <= c.keeper.clock.now()
}

// take puts claims into the Keeper's hands, in the order they were claimed.
func (k *Keeper) take(list []*held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range list {
		k.seq++
		h.seq = k.seq
		k.held[h] = struct{}{}
	}
	k.metrics.inHand.Add(float64(len(list))) // others of this topic may hold some, too
}

// release lets go of claims: they are settled, or left to their leases.
func (k *Keeper) release(list ...*held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.held)
	for _, h := range list {
		delete(k.held, h)
	}
	k.metrics.inHand.Sub(float64(before - len(k.held)))
}

// releaseAll lets go of what nobody settles any more.
func (k *Keeper) releaseAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.metrics.inHand.Sub(float64(len(k.held)))
	clear(k.held)
}

// inHand counts the claims in hand.
func (k *Keeper) inHand() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.held)
}

// strangers returns those of claims whose text is not in our hands.
func (k *Keeper) strangers(claims []Claim) []Claim {
	if len(claims) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ours := make(map[string]bool, len(k.held))
	for h := range k.held {
		ours[h.text] = true
	}
	var list []Claim
	for _, claim := range claims {
		if !ours[claim.Text] {
			list = append(list, claim)
		}
	}
	return list
}

// possible are the leases a claim may have: held, and next if a renewal has set it.
type possible struct {
	held, next Lease
	sole       bool // held is the claim's own lease, by which it can be told
}

// beginWrite returns the leases to settle the claims of batch under, and keeps them as they are until endWrite.
func (k *Keeper) beginWrite(batch []*settlement) []possible {
	k.mu.Lock()
	defer k.mu.Unlock()
	leases := make([]possible, len(batch))
	breaks := k.store.breaks.Load()
	for i, one := range batch {
		h := one.claim
		h.writing, h.settled = true, true
		leases[i].held = h.leases[0]
		leases[i].sole = h.sole && h.leases[0] == h.first[0] && h.breaks == breaks && !one.skipGone
		if len(h.leases) > 1 {
			leases[i].next = h.leases[1]
		}
		h.offered = leases[i]
	}
	return leases
}

// endWrite allows renewals again, for a settlement that has to be offered once more.
func (k *Keeper) endWrite(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h.writing = false
}

// otherLease drops the leases that were just refused and reports whether another is possible: that of a renewal which
// was under way when the settlement began, and which may be the only one left by now, as it was confirmed meanwhile.
func (k *Keeper) otherLease(h *held) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := make([]Lease, 0, len(h.leases))
	for _, lease := range h.leases {
		if lease != h.offered.held && lease != h.offered.next {
			left = append(left, lease)
		}
	}
	if len(left) == 0 {
		return false
	}
	h.leases = left
	return true
}
