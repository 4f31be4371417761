package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sidecar/internal/plural"
)

var (
	errGraceOver = errors.New("the grace period is over")
	errAborted   = errors.New("stopped at once by a second signal")
)

// afterGrace is how long after the jobs in hand were told to stop the sidecar waits for them: to stop their
// scripts and put their texts back. With what is left to close that stays within the 4 s beyond grace that are promised, and below
// the 30 s that release scripts allow (CONTRACT 1.6).
const afterGrace = 3500 * time.Millisecond

// background runs do until stop is called, which waits for its end. It may be called again.
func background(ctx context.Context, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { do(ctx) })
	return func() { cancel(); wg.Wait() }
}

// drain waits for the jobs in hand: for grace, then until they are stopped, then no longer.
func (a *app) drain(ctx context.Context, running *sync.WaitGroup, abort context.CancelCauseFunc) {
	notifyStopping()
	a.mu.Lock()
	a.stopping = true
	g := a.current
	a.mu.Unlock()
	g.leave()
	grace := g.cfg.Grace
	a.log.InfoContext(ctx, "stopping", "grace", grace, "in_hand", a.inHand())
	notifyStatus(fmt.Sprintf("stopping: %s %s", plural.Of(a.inHand(), "job in hand has", "jobs in hand have"), grace))

	still := make(chan struct{})
	go func() { running.Wait(); close(still) }() // ends with the process at the latest
	select {
	case <-still:
	case <-a.opts.Abort:
		a.log.WarnContext(ctx, "second signal: stopping the jobs in hand", "in_hand", a.inHand())
		abort(errAborted)
	case <-time.After(grace):
		a.log.WarnContext(ctx, "grace is over: stopping the jobs in hand", "in_hand", a.inHand())
		abort(errGraceOver)
	}
	select {
	case <-still:
		a.log.InfoContext(ctx, "stopped")
	case <-time.After(afterGrace):
		// What is left keeps its lease and comes back when that ends: nothing is lost.
		a.log.ErrorContext(ctx, "stopped with jobs in hand; they run again when their lease ends", "in_hand", a.inHand())
	}
}
