package queue

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"sidecar/compat"
)

const (
	// expiryBusy is how often to look for expired claims while jobs run, or ran a short time ago.
	expiryBusy = time.Second
	// expiryIdle is how often otherwise: somebody else's claims may be there, too.
	expiryIdle = 5 * time.Second
)

// expiry takes back claims whose lease has ended: their consumer died, or lost its connection for long.
// They take the same road as a crash, under the lease that was read, and nothing is kept here: a write
// that fails leaves the claim in running, where the next look finds it. Only used by the Scanner's goroutine.
type expiry struct {
	store   *Store
	batch   int
	lease   time.Duration
	rules   rules
	keeper  *Keeper
	hands   *hands
	replies *lostReplies
	clock   *serverClock
	metrics *topicMetrics
	trouble *trouble
	log     *slog.Logger

	next      time.Time // when to look again
	busyUntil time.Time // until then jobs are taken to run somewhere
	away      bool      // Redis did not answer the last time
}

// outage notes that Redis did not answer.
func (e *expiry) outage() { e.away = true }

// answered notes how long Redis took for an answer. For as long as a renewal interval is an outage, too, although nobody
// was told: what the others have sent meanwhile is on its way.
func (e *expiry) answered(took time.Duration) { e.away = e.away || took >= e.lease/3 }

// wait returns how long it is until the next look.
func (e *expiry) wait() time.Duration { return time.Until(e.next) }

// lookIfTime looks for expired claims when it is time. After an outage it first leaves the other
// consumers one renewal interval: their leases ended while they could not renew them, and their jobs live.
func (e *expiry) lookIfTime(ctx context.Context) {
	now := time.Now()
	if e.away {
		e.away = false
		e.next = now.Add(e.lease / 3)
	}
	if now.Before(e.next) {
		return
	}
	more, err := e.expireOnce(ctx)
	e.trouble.note(ctx, err)
	e.away = err != nil
	e.answered(time.Since(now))
	e.schedule(now, more)
}

func (e *expiry) schedule(now time.Time, more bool) {
	if e.busyUntil.IsZero() || more || e.hands.inHand() > 0 {
		e.busyUntil = now.Add(2 * e.lease)
	}
	switch {
	case more:
		e.next = now
	case now.Before(e.busyUntil):
		e.next = now.Add(spread(expiryBusy))
	default:
		e.next = now.Add(spread(expiryIdle))
	}
}

// expireOnce takes back one batch. more reports that it was full, and that some of it is done.
func (e *expiry) expireOnce(ctx context.Context) (more bool, err error) {
	asked := time.Now()
	claims, now, err := e.store.Expired(ctx, e.batch)
	if err != nil {
		return false, err
	}
	e.clock.set(now, asked)
	if time.Since(asked) >= e.lease/3 {
		return false, nil // see answered
	}
	requeued, buried := e.decide(e.hands.strangers(claims))
	writes := writes{store: e.store, keeper: e.keeper}
	done := 0
	for _, group := range []struct {
		list  []*settlement
		write write
	}{{requeued, writes.requeue}, {buried, writes.bury}} {
		if len(group.list) == 0 {
			continue
		}
		results, err := group.write(ctx, group.list)
		if err != nil {
			return false, err
		}
		n, refused := e.count(ctx, group.list, results)
		if refused != nil {
			return false, refused
		}
		done += n
	}
	return len(claims) >= e.batch && done > 0, nil
}

// decide turns expired claims into settlements, each to be skipped if its entry is gone by then.
func (e *expiry) decide(claims []Claim) (requeued, buried []*settlement) {
	for _, claim := range claims {
		one := e.settlement(claim)
		one.skipGone = true
		if one.action == Bury {
			buried = append(buried, one)
			continue
		}
		requeued = append(requeued, one)
	}
	return requeued, buried
}

func (e *expiry) settlement(claim Claim) *settlement {
	h := newHeld(claim, e.clock.now(), 0)
	if err := e.rules.read(h); err != nil {
		return e.rules.unreadable(h, err)
	}
	if e.replies.covers(claim.Lease) {
		return e.rules.giveBack(h) // it never ran
	}
	return e.rules.settle(h, compat.Outcome{
		Verdict: compat.Crashed,
		Error:   leaseExpired + ": the consumer that ran this job died or lost Redis",
	})
}

// count tells of what was settled and returns a refusal, if there was one.
func (e *expiry) count(ctx context.Context, list []*settlement, results []SettleResult) (done int, refused error) {
	for i, r := range results {
		refused = cmp.Or(refused, r.Err)
		if r.Settlement != Settled {
			continue
		}
		done++
		job := list[i].claim.job
		e.log.InfoContext(ctx, "lease expired", "uuid", job.PlainUUID(), "action", list[i].action.String(), "crashes", job.Crashes())
		e.metrics.expired.Inc()
		if list[i].action == Bury {
			e.metrics.buried.Inc()
		}
	}
	return done, refused
}
