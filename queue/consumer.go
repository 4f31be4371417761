package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// finalTime is how long settlements are still offered once work is done and the last handler has returned.
	finalTime = 2 * time.Second

	// verdictsMost bounds the verdicts that wait for a Redis which takes claims and refuses settlements.
	verdictsMost = 1024
)

// Consumer consumes one topic: it promotes, claims, runs and settles.
type Consumer struct {
	scanner *Scanner
	feeder  *Feeder
	worker  *worker
	keeper  *Keeper
	settler *Settler
}

// Health is what readiness wants to know of a Consumer.
type Health struct {
	LastScan  time.Time // when the last promotion was answered; zero before the first
	ScanErr   error     // why promoting does not work at present, or nil
	ClaimErr  error     // why claiming does not
	SettleErr error     // why settling does not: verdicts wait
	InHand    int       // claims held, waiting verdicts included
}

// NewConsumer returns a consumer of opts.Topic that runs its jobs with handler, on gate's slots. wakes and
// tracking are a Waker's: tracking reports whether Redis tells of every change at present. Dead records
// are dated in loc.
func NewConsumer(opts Options, store *Store, wakes Wakes, tracking func() bool, handler Handler, gate Gate, metrics *Metrics, loc *time.Location, log *slog.Logger) *Consumer {
	log = log.With("topic", opts.Topic)
	m := metrics.topic(opts.Topic)
	clock := &serverClock{}
	due := newDueTimes()
	rules := newRules(opts, clock, loc)
	rhythm := rhythm{scanInterval: opts.ScanInterval, tracking: tracking}
	replies := &lostReplies{length: opts.Lease}
	keeper := newKeeper(store, opts.Lease, clock, m, log)
	settler := newSettler(store, keeper, m, log)
	hint := make(chan struct{}, 1)
	underWay := opts.Workers * max(opts.LookAhead, 1)
	flight := newFlight(opts.Workers, underWay)
	worker := &worker{
		handler: handler, gate: gate, solo: newSolo(), rules: rules, keeper: keeper, settler: settler,
		clock: clock, metrics: m, log: log, flight: flight, due: due, next: make(chan *held),
	}

	c := &Consumer{worker: worker, keeper: keeper, settler: settler}
	c.scanner = &Scanner{
		store: store, batch: opts.Batch, unit: opts.ScoreUnit, wake: wakes.Pool, hint: hint, rhythm: rhythm,
		clock: clock, due: due, metrics: m, trouble: newTrouble("promote", m, log), log: log,
		expiry: &expiry{
			store: store, batch: opts.Batch, lease: opts.Lease, rules: rules, keeper: keeper, replies: replies,
			clock: clock, metrics: m, trouble: newTrouble("expire", m, log), log: log,
		},
	}
	c.feeder = &Feeder{
		store: store, gate: gate, wake: wakes.Ready, hint: hint, rhythm: rhythm,
		keeper: keeper, clock: clock, replies: replies, metrics: m, trouble: newTrouble("claim", m, log),
		worker: worker, flight: flight, most: underWay + verdictsMost,
		intake: &intake{
			store: store, lease: opts.Lease, rules: rules, keeper: keeper, settler: settler,
			due: due, metrics: m, trouble: newTrouble("done_before", m, log), log: log, topic: opts.Topic,
		},
	}
	return c
}

// Run consumes until take is done; claims not yet started go back to the head of ready then, in their
// order, and jobs in hand go on. When work is done, too, the handlers are told. Run returns when all
// verdicts are settled, or, once work is done, some seconds after the last handler has returned; every
// goroutine it started has ended then.
func (c *Consumer) Run(take, work context.Context) {
	// A verdict is not lost to a cancellation: what settles and renews outlives work.
	books, closeBooks := context.WithCancel(context.WithoutCancel(work))
	defer closeBooks()
	var keeping, settling, flow sync.WaitGroup
	keeping.Go(func() { c.keeper.Run(books) })
	settling.Go(func() { c.settler.Run(books) })

	flow.Go(func() { c.scanner.Run(take) })
	flow.Go(func() { c.feeder.Run(take, work) })
	flow.Wait()
	c.worker.finish()

	c.settler.finish()
	defer context.AfterFunc(work, func() { // a Redis that stays away must not keep the process
		time.AfterFunc(finalTime, closeBooks)
	})()
	settling.Wait()
	closeBooks()
	keeping.Wait()
}

// Health reports how the Consumer fares.
func (c *Consumer) Health() Health {
	return Health{
		LastScan:  c.scanner.last(),
		ScanErr:   c.scanner.trouble.current(),
		ClaimErr:  c.feeder.trouble.current(),
		SettleErr: c.settler.current(),
		InHand:    c.keeper.inHand(),
	}
}
