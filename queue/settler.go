package queue

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// settlement is a decision on its way to Redis.
type settlement struct {
	claim  *held
	action Action // never Leave

	newText string        // Requeue, GiveBack
	delay   time.Duration // Requeue
	record  string        // Bury
	uuid    string        // whose mark is touched; "" where idempotency is off

	// skipGone: an absent running entry means that the claim is settled already, so nothing is changed then.
	// That is so for a claim read by Expired, and after an offer whose reply was lost (docs/decisions/0007).
	skipGone bool
}

// Settler writes decisions in groups: what arrives while one write is under way goes out with the next,
// so a quiet topic waits for nothing and a busy one pays few round trips. Each action is a group of its
// own, so that a Redis that refuses to add (OOM) still takes what frees.
//
// Whatever the fault, a settlement is offered again until it is through or the process ends.
type Settler struct {
	keeper  *Keeper
	metrics *topicMetrics
	log     *slog.Logger
	groups  map[Action]*group
}

func newSettler(store *Store, keeper *Keeper, metrics *topicMetrics, steps *troubles, log *slog.Logger) *Settler {
	s := &Settler{
		keeper: keeper, metrics: metrics, log: log,
		groups: make(map[Action]*group),
	}
	writes := writes{store: store, keeper: keeper}
	for action, write := range map[Action]write{
		Complete: writes.complete,
		Requeue:  writes.requeue,
		GiveBack: writes.requeue,
		Bury:     writes.bury,
	} {
		s.groups[action] = &group{
			action: action, write: write,
			trouble: steps.of(action.String()),
			wake:    make(chan struct{}, 1),
		}
	}
	s.groups[GiveBack].linger = giveBackLinger
	return s
}

// add hands over settlements. It never waits.
func (s *Settler) add(list ...*settlement) {
	for _, one := range list {
		s.groups[one.action].add(one)
	}
}

// finish says that nothing more will be added: Run returns when all is settled.
func (s *Settler) finish() {
	for _, g := range s.groups {
		g.finish()
	}
}

// current returns why settling does not work at present, or nil.
func (s *Settler) current() error {
	var errs []error
	for _, g := range s.groups {
		errs = append(errs, g.trouble.current())
	}
	return errors.Join(errs...)
}

// Run writes until finish was called and all is settled, or until final is done. What is left then stays
// in running, and its job runs again when the lease ends.
func (s *Settler) Run(final context.Context) {
	var wg sync.WaitGroup
	for _, g := range s.groups {
		wg.Go(func() { s.run(final, g) })
	}
	wg.Wait()
}

func (s *Settler) run(final context.Context, g *group) {
	again := backoff{most: patienceAfter(s.keeper.lease)}
	for {
		batch := g.take(final)
		if len(batch) == 0 {
			s.abandon(final, g)
			return
		}
		left := s.offer(final, g, batch)
		if len(left) == 0 {
			again.reset()
			continue
		}
		s.metrics.retries.Add(float64(len(left)))
		g.putBack(left)
		again.wait(final)
	}
}

// offer writes batch once and returns what has to be offered again.
func (s *Settler) offer(ctx context.Context, g *group, batch []*settlement) (left []*settlement) {
	results, err := g.write(ctx, batch)
	through := make([]*held, 0, len(batch))
	for i, one := range batch {
		if !results[i].answered() {
			one.skipGone = one.skipGone || mayHaveRun(err)
		} else if s.settled(ctx, one, results[i]) {
			through = append(through, one.claim)
			one.claim.trace.Settled(one.action.String())
			continue
		}
		err = cmp.Or(err, results[i].Err)
		s.keeper.endWrite(one.claim)
		left = append(left, one)
	}
	s.keeper.release(through...)
	g.trouble.note(ctx, err)
	return left
}

// answered reports that the call which carried the settlement was answered.
func (r SettleResult) answered() bool { return r.Settlement != 0 || r.Err != nil }

// settled takes one result and reports whether the claim's way ends with it.
func (s *Settler) settled(ctx context.Context, one *settlement, r SettleResult) bool {
	if r.Err != nil {
		one.skipGone = false // the entry was there, so no earlier offer ran
		return false
	}
	switch r.Settlement {
	case Settled:
		if one.action == Bury {
			s.metrics.buried.Inc()
		}
	case Gone, Skipped:
		s.log.DebugContext(ctx, "claim was gone when settled", "action", one.action.String(), "uuid", one.claim.job.PlainUUID(), "settlement", r.Settlement.String())
	case Lost:
		if s.keeper.otherLease(one.claim) {
			return false
		}
		s.keeper.settledLost(ctx, one)
	case Readded:
		s.metrics.readded.Inc()
		s.log.WarnContext(ctx, "job was in no key and is added again", "action", one.action.String(), "uuid", one.claim.job.PlainUUID())
	}
	return true
}

// abandon tells of what is given up at the end.
func (s *Settler) abandon(ctx context.Context, g *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.pending {
		one.claim.trace.Settled(givenUp)
	}
	if n := len(g.pending); n > 0 {
		s.metrics.abandoned.Add(float64(n))
		s.log.WarnContext(ctx, "settlements given up, their jobs run again when the leases end", "action", g.action.String(), "jobs", n)
	}
}

// mayHaveRun reports that Redis may have run a call that ended in err. An answer says that it was refused;
// without a connection, or after a dial that failed, it was never sent.
func mayHaveRun(err error) bool {
	if fault := FaultOf(err); fault != Network && fault != Other {
		return false
	}
	var answer redis.Error
	var op *net.OpError
	switch {
	case errors.As(err, &answer), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return false
	case errors.As(err, &op):
		return op.Op != "dial"
	}
	return true
}
