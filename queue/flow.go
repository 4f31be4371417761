package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// flow is what a Consumer consumes with: its loops, and what they have in hand. Where it stalls, another takes its place.
type flow struct {
	scanner *Scanner
	feeder  *Feeder
	worker  *worker
	keeper  *Keeper
	settler *Settler
	steps   *troubles

	metrics  *topicMetrics
	log      *slog.Logger
	patience time.Duration // with loops that are to end
}

// run consumes until take is done, then finishes what is in hand. See [Consumer.Run].
func (f *flow) run(take, work context.Context) {
	// A verdict is not lost to a cancellation: what settles and renews outlives work.
	books, closeBooks := context.WithCancel(context.WithoutCancel(work))
	defer closeBooks()
	var keeping, settling sync.WaitGroup
	keeping.Go(func() { f.keeper.Run(books) })
	settling.Go(func() { f.settler.Run(books) })

	f.runLoops(take, work)
	f.worker.finish()

	f.settler.finish()
	defer context.AfterFunc(work, func() { // a Redis that stays away must not keep the process
		time.AfterFunc(finalTime, closeBooks)
	})()
	settling.Wait()
	closeBooks()
	keeping.Wait()
	f.keeper.releaseAll()
	f.steps.drop(books)
}

// runLoops promotes and claims until take is done. A loop that does not end then is abandoned: whatever it waits for, it
// starts no run any more, and what it may still claim goes back, or stays in running until its lease ends.
func (f *flow) runLoops(take, work context.Context) {
	scanning, feeding := make(chan struct{}), make(chan struct{})
	go func() { defer close(scanning); f.scanner.Run(take) }()
	go func() { defer close(feeding); f.feeder.Run(take, work) }()

	<-take.Done()
	late, cancel := context.WithTimeout(context.WithoutCancel(take), f.patience)
	defer cancel()
	for _, loop := range []struct {
		name  string
		ended chan struct{}
		at    *station
	}{{"scanner", scanning, f.scanner.at}, {"feeder", feeding, f.feeder.at}} {
		select {
		case <-loop.ended:
		case <-late.Done():
			f.metrics.abandonedLoops.Inc()
			f.log.ErrorContext(late, "a loop does not end and is abandoned", "loop", loop.name, "at", loop.at.String())
		}
	}
}
