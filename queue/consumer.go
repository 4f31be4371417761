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
	brake    *brake
	head     *readyHead
	opts     Options
	loc      *time.Location
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

// Parts are what a Consumer is made of.
type Parts struct {
	Store     *Store
	Watch     *Store      // the topic's, over another client: what the watchdog asks
	Wakes     Wakes       // a Waker's
	Tracking  func() bool // a Waker's, too: whether Redis tells of every change at present
	Handler   Handler     // runs the jobs
	Gate      Gate        // on whose slots
	Metrics   *Metrics
	Incidents *Incidents     // where those are kept that the consumer meets; nil: nowhere
	Outages   *Outages       // those of the Store's Redis
	Tracer    Tracer         // nil: nobody traces
	Timezone  *time.Location // in which dead records are dated
	Log       *slog.Logger
}

// NewConsumer returns a consumer of opts.Topic.
func NewConsumer(opts Options, parts Parts) *Consumer {
	parts.Log = parts.Log.With("topic", opts.Topic)
	m := parts.Metrics.topic(opts.Topic)
	c := &Consumer{
		watchdog: &watchdog{store: parts.Watch, gate: parts.Gate, after: opts.StallAfter, metrics: m, log: parts.Log},
		hands:    &hands{},
		brake:    newBrake(opts, parts.Timezone, m, parts.Log),
		head:     newReadyHead(),
		opts:     opts,
		loc:      parts.Timezone,
		patience: loopPatience,
	}
	c.newFlow = func() *flow { return newFlow(opts, parts, c.brake, c.hands, c.head, m) }
	c.begin()
	return c
}

// newFlow puts the parts of a flow together.
func newFlow(opts Options, parts Parts, brake *brake, hands *hands, head *readyHead, m *topicMetrics) *flow {
	store, log := parts.Store, parts.Log
	steps := &troubles{topic: opts.Topic, metrics: m, outages: parts.Outages, log: log}
	clock := &serverClock{}
	due := head.times
	rules := newRules(opts, clock, parts.Timezone)
	rhythm := rhythm{scanInterval: opts.ScanInterval, tracking: parts.Tracking}
	replies := &hands.replies
	keeper := newKeeper(store, opts.Lease, clock, m, steps.of("renew"), log)
	settler := newSettler(store, keeper, m, steps, log)
	hint := make(chan struct{}, 1)
	underWay := opts.Workers * max(opts.LookAhead, 1)
	flight := newFlight(opts.Workers, underWay)
	worker := &worker{
		handler: parts.Handler, gate: parts.Gate, brake: brake, solo: newSolo(), rules: rules, keeper: keeper, settler: settler,
		clock: clock, metrics: m, log: log, flight: flight, due: due, short: newCutShort(log), next: make(chan *held),
	}

	f := &flow{worker: worker, keeper: keeper, settler: settler, steps: steps, metrics: m, log: log}
	f.scanner = &Scanner{
		store: store, brake: brake, batch: opts.Batch, unit: opts.ScoreUnit, wake: parts.Wakes.Pool, hint: hint, rhythm: rhythm, at: newStation(),
		clock: clock, due: due, metrics: m, incidents: parts.Incidents, topic: opts.Topic, trouble: steps.of("promote"), log: log,
		expiry: &expiry{
			store: store, batch: opts.Batch, lease: opts.Lease, rules: rules, keeper: keeper, hands: hands, replies: replies,
			clock: clock, metrics: m, trouble: steps.of("expire"), log: log,
		},
	}
	f.feeder = &Feeder{
		store: store, gate: parts.Gate, brake: brake, wake: parts.Wakes.Ready, hint: hint, rhythm: rhythm, at: newStation(), claimed: newProgress(),
		keeper: keeper, clock: clock, replies: replies, metrics: m, trouble: steps.of("claim"),
		worker: worker, flight: flight, most: underWay + verdictsMost,
		intake: &intake{
			store: store, lease: opts.Lease, rules: rules, keeper: keeper, settler: settler,
			due: due, head: head, metrics: m, trouble: steps.of("done_before"), tracer: parts.Tracer, log: log, topic: opts.Topic, incidents: parts.Incidents,
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
// old has in hand is no stranger to c, what old may have claimed without a reply has not run, what holds old back
// holds c back, as far as c's options know of it, and c knows what old knows of ready's head. It is to be called before
// Run, and not before the new configuration is sure to be taken: what holds old back goes by c's options from now on.
func (c *Consumer) Follow(old *Consumer) {
	c.hands, c.brake, c.head = old.hands, old.brake, old.head
	c.brake.set(c.opts, c.loc)
	c.mu.Lock()
	c.flows = nil // the one c was made with has hands and a brake of its own; it has begun nothing
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

// Look tells the Consumer Redis's time, and who has paused its topic for all sidecars; nil for nobody. It is to be
// called about once a second: a window of the topic begins and ends, and a pause ends, with the next call.
func (c *Consumer) Look(ctx context.Context, now time.Time, pause *Pause) {
	c.brake.look(ctx, now, pause)
}

// Holds returns what holds the topic back on this sidecar at present.
func (c *Consumer) Holds() []Hold { return c.brake.holds() }

// EndBreak lets the topic go on, on this sidecar, if its breaker holds it, and reports that it did: somebody has mended what failed.
func (c *Consumer) EndBreak(ctx context.Context) bool { return c.brake.endBreak(ctx) }

// Head returns what this process knows of the head of the topic's ready; false while it knows nothing, and of lists.
func (c *Consumer) Head() (Head, bool) {
	if c.opts.List != nil {
		return Head{}, false
	}
	return c.head.head()
}

// Counted takes note of a count of the topic's keys and returns it with the age of ready's head, as far as this process and
// the others know of it.
func (c *Consumer) Counted(d Depths, others []Heartbeat) Depths {
	if c.opts.List != nil {
		return d
	}
	c.head.counted(d)
	return d.WithHead(append(slices.Clone(others), c.head.beat(c.opts.Topic, d.Now)), c.opts.Topic)
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
