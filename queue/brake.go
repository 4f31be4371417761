package queue

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sidecar/compat"
)

// brake stands before a topic's Feeder and says when it may claim, and how much (docs/decisions/0023). Its state is the
// topic's and outlives flows and reloads. A topic that nothing holds back pays a look at a pointer for each claim.
type brake struct {
	metrics *topicMetrics
	log     *slog.Logger
	bucket  atomic.Pointer[bucket] // nil: no rate
	counts  atomic.Bool            // there is a breaker

	mu      sync.Mutex // guards what follows
	windows []Window
	loc     *time.Location
	pause   *Pause // that is on
	window  *Hold  // likewise
	breaker breaker
	server  time.Time          // Redis's time as it was last told, and
	told    time.Time          // when that was; zero: never
	passes  map[*pass]struct{} // that are out
	changed chan struct{}      // closed when something begins or ends
	waiting int                // for tokens, at present
	waited  time.Time          // likewise, the last time
	logged  struct {           // what the log knows of
		pause  *Pause
		window bool
	}
}

func newBrake(opts Options, loc *time.Location, metrics *topicMetrics, log *slog.Logger) *brake {
	b := &brake{metrics: metrics, log: log, passes: make(map[*pass]struct{}), changed: make(chan struct{})}
	b.set(opts, loc)
	return b
}

// set has the brake go by other options from now on, and keeps its state.
func (b *brake) set(opts Options, loc *time.Location) {
	now := time.Now()
	switch old := b.bucket.Load(); {
	case opts.Rate.IsZero():
		b.bucket.Store(nil)
	case old == nil:
		b.bucket.Store(newBucket(opts.Rate, now))
	default:
		old.rerate(opts.Rate, now)
	}
	b.counts.Store(opts.Breaker > 0)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.windows, b.loc = opts.PauseWindows, loc
	b.breaker.set(opts.Breaker, opts.BreakerProbe)
	old := b.window
	b.window = nil
	b.lookAtWindowsLocked(b.serverNowLocked())
	if old != nil && b.window != nil {
		b.window.Since = old.Since
	}
	b.turnLocked()
}

// look notes Redis's time and who has paused the topic, nil for nobody.
func (b *brake) look(ctx context.Context, now time.Time, pause *Pause) {
	if pause != nil && pause.Over(now) {
		pause = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server, b.told = now, time.Now()
	was := b.stillLocked()
	b.pause = pause
	b.lookAtWindowsLocked(now)
	if was != b.stillLocked() {
		b.turnLocked()
	}
	b.tellLocked(ctx)
}

// lookAtWindowsLocked finds out whether it is the time of a window.
func (b *brake) lookAtWindowsLocked(now time.Time) {
	window, on := windowAt(b.windows, now, b.loc)
	switch {
	case !on:
		b.window = nil
	case b.window == nil:
		b.window = &Hold{Kind: HoldWindow, Since: now, Until: windowsEnd(b.windows, now, b.loc), Reason: window.String()}
	}
}

// serverNowLocked is Redis's time; before that was ever told it is this host's.
func (b *brake) serverNowLocked() time.Time {
	if b.told.IsZero() {
		return time.Now()
	}
	return b.server.Add(time.Since(b.told))
}

// turnLocked ends the passes that no longer hold, and has everybody look again who waits.
func (b *brake) turnLocked() {
	for p := range b.passes {
		if b.stillLocked() || b.breaker.trip != nil && !p.probe {
			p.cancel()
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// stillLocked reports that nothing at all is to move to a run.
func (b *brake) stillLocked() bool { return b.pause != nil || b.window != nil }

// still reports that due jobs are to stay in the pool, and returns what is closed when that may have changed.
func (b *brake) still() (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stillLocked(), b.changed
}

// saw takes what a run came to. probe is the pass that it was claimed under, if that is a probe's.
func (b *brake) saw(ctx context.Context, probe *pass, job compat.Job, o compat.Outcome) {
	if probe == nil && !b.counts.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if probe != nil {
		b.leaveLocked(probe)
		if b.breaker.probed(o, now) {
			b.tellOpenLocked(ctx)
		}
		b.turnLocked() // also for the next probe
		return
	}
	if b.breaker.saw(job.UUID(), o, now) {
		b.tellTripLocked(ctx)
		b.turnLocked()
	}
}
