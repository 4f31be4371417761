package queue

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// finalTime is how long settlements are still offered once work is done and the last handler has returned.
	finalTime = 2 * time.Second

	// verdictsMost bounds the verdicts that wait for a Redis which takes claims and refuses settlements.
	verdictsMost = 1024

	// loopPatience is how long scanner and feeder may take to end: one call to Redis that times out, with its dial.
	// It is below the grace that a stop has by default.
	loopPatience = 18 * time.Second
)

// Consumer consumes one topic: it promotes, claims, runs and settles. A watchdog replaces what does that when work
// is due and nothing is claimed (docs/decisions/0013).
type Consumer struct {
	newFlow  func() *flow
	watchdog *watchdog
	hands    *hands
	patience time.Duration // loopPatience; shorter in tests

	mu    sync.Mutex
	flows []*flow // guarded by mu: the last is at work, those before it finish what they have in hand
}

// Health is what readiness wants to know of a Consumer.
type Health struct {
	LastScan  time.Time // when the last promotion was answered; zero before the first
	ScanErr   error     // why promoting does not work at present, or nil
	ClaimErr  error     // why claiming does not
	SettleErr error     // why settling does not: verdicts wait
	StallErr  error     // that work is due and nothing is claimed
	InHand    int       // claims held, waiting verdicts included
}

// NewConsumer returns a consumer of opts.Topic that runs its jobs with handler, on gate's slots. watch is the topic's
// Store over another client, which the watchdog asks. wakes and
// tracking are a Waker's: tracking reports whether Redis tells of every change at present. Dead records
// are dated in loc; outages are those of the Store's Redis.
func NewConsumer(opts Options, store, watch *Store, wakes Wakes, tracking func() bool, handler Handler, gate Gate, metrics *Metrics, outages *Outages, loc *time.Location, log *slog.Logger) *Consumer {
	log = log.With("topic", opts.Topic)
	m := metrics.topic(opts.Topic)
	c := &Consumer{
		watchdog: &watchdog{store: watch, gate: gate, after: opts.StallAfter, metrics: m, log: log},
		hands:    &hands{},
		patience: loopPatience,
	}
	c.newFlow = func() *flow {
		return newFlow(opts, store, wakes, tracking, handler, gate, c.hands, m, outages, loc, log)
	}
	c.begin()
	return c
}

// newFlow puts the parts of a flow together.
func newFlow(opts Options, store *Store, wakes Wakes, tracking func() bool, handler Handler, gate Gate, hands *hands, m *topicMetrics, outages *Outages, loc *time.Location, log *slog.Logger) *flow {
	steps := &troubles{topic: opts.Topic, metrics: m, outages: outages, log: log}
	clock := &serverClock{}
	due := newDueTimes()
	rules := newRules(opts, clock, loc)
	rhythm := rhythm{scanInterval: opts.ScanInterval, tracking: tracking}
	replies := &hands.replies
	keeper := newKeeper(store, opts.Lease, clock, m, steps.of("renew"), log)
	settler := newSettler(store, keeper, m, steps, log)
	hint := make(chan struct{}, 1)
	underWay := opts.Workers * max(opts.LookAhead, 1)
	flight := newFlight(opts.Workers, underWay)
	worker := &worker{
		handler: handler, gate: gate, solo: newSolo(), rules: rules, keeper: keeper, settler: settler,
		clock: clock, metrics: m, log: log, flight: flight, due: due, next: make(chan *held),
	}

	f := &flow{worker: worker, keeper: keeper, settler: settler, steps: steps, metrics: m, log: log}
	f.scanner = &Scanner{
		store: store, batch: opts.Batch, unit: opts.ScoreUnit, wake: wakes.Pool, hint: hint, rhythm: rhythm, at: newStation(),
		clock: clock, due: due, metrics: m, trouble: steps.of("promote"), log: log,
		expiry: &expiry{
			store: store, batch: opts.Batch, lease: opts.Lease, rules: rules, keeper: keeper, hands: hands, replies: replies,
			clock: clock, metrics: m, trouble: steps.of("expire"), log: log,
		},
	}
	f.feeder = &Feeder{
		store: store, gate: gate, wake: wakes.Ready, hint: hint, rhythm: rhythm, at: newStation(), claimed: newProgress(),
		keeper: keeper, clock: clock, replies: replies, metrics: m, trouble: steps.of("claim"),
		worker: worker, flight: flight, most: underWay + verdictsMost,
		intake: &intake{
			store: store, lease: opts.Lease, rules: rules, keeper: keeper, settler: settler,
			due: due, metrics: m, trouble: steps.of("done_before"), log: log, topic: opts.Topic,
		},
	}
	return f
}

// Run consumes until take is done; claims not yet started go back to the head of ready then, in their
// order, and jobs in hand go on. When work is done, too, the handlers are told. Run returns when all
// verdicts are settled, or, once work is done, some seconds after the last handler has returned; every
// goroutine it started has ended then, but for loops that were abandoned since they would not end.
//
// A flow that stalls takes nothing new, and another one begins beside it. What it has in hand goes on under its leases,
// and is no stranger to its successor.
func (c *Consumer) Run(take, work context.Context) {
	var flows sync.WaitGroup
	defer flows.Wait()
	for f := c.current(); ; f = c.begin() {
		c.hands.add(f.keeper)
		flowing, replace := context.WithCancel(take)
		flows.Go(func() {
			f.run(flowing, work)
			c.end(f)
		})
		c.watchdog.watch(take, f)
		replace()
		if take.Err() != nil {
			c.watchdog.leave()
			return
		}
	}
}

// Follow has c go on where old leaves off, the consumer of the same topic on the same Redis that a reload replaces: what
// old has in hand is no stranger to c, and what old may have claimed without a reply has not run. It is to be called
// before Run.
func (c *Consumer) Follow(old *Consumer) {
	c.hands = old.hands
	c.mu.Lock()
	c.flows = nil
	c.mu.Unlock()
	c.begin()
}

// begin makes the flow that is to work from now on.
func (c *Consumer) begin() *flow {
	f := c.newFlow()
	f.patience = c.patience
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows = append(c.flows, f)
	return f
}

// end forgets a flow that has nothing in hand any more, but for the last.
func (c *Consumer) end(f *flow) {
	c.hands.remove(f.keeper)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.flows) > 1 {
		c.flows = slices.DeleteFunc(c.flows, func(have *flow) bool { return have == f })
	}
}

func (c *Consumer) current() *flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flows[len(c.flows)-1]
}

// Health reports how the Consumer fares.
func (c *Consumer) Health() Health {
	c.mu.Lock()
	flows := slices.Clone(c.flows)
	c.mu.Unlock()
	f := flows[len(flows)-1]
	h := Health{
		LastScan: f.scanner.last(),
		ScanErr:  f.scanner.trouble.current(),
		ClaimErr: f.feeder.trouble.current(),
	}
	if f.feeder.claimed.count() == 0 { // else it is over, whether or not the watchdog has seen that
		h.StallErr = c.watchdog.current()
	}
	for _, f := range flows {
		h.SettleErr = cmp.Or(h.SettleErr, f.settler.current())
		h.InHand += f.keeper.inHand()
	}
	return h
}
