package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"sidecar/internal/plural"
)

const (
	// statusEvery is how often the line for `systemctl status` is looked at.
	statusEvery = 10 * time.Second

	// standsMost is how long a loop may be at one call until systemd is to start the process anew. It is far above the client's
	// timeouts, and leaves the topic's own watchdog (docs/decisions/0013) the time to mend it.
	standsMost = 5 * time.Minute
)

// errNoAnswer is what is wrong with an app that does not answer the roll call.
var errNoAnswer = errors.New("the roll call is not answered: somebody holds a lock, or the main loop hangs")

// herald tells systemd how the process stands: a line for people, and, where the unit has a WatchdogSec, that it is
// alive. It is alive while it answers a roll call of all that must move (docs/decisions/0027), and not while a clock ticks.
type herald struct {
	app   *app
	log   *slog.Logger
	every time.Duration
	feeds bool // systemd waits for signs of life

	asked chan answer // the answer to a roll call that is still open
	said  string      // the last status line
	fault string      // why there was no sign of life last, "" if there was one
}

// answer is what came of a roll call: the status line, or who stands still.
type answer struct {
	line string
	err  error
}

// newHerald returns the herald that systemd's environment asks for.
func newHerald(a *app) *herald {
	h := &herald{app: a, log: a.log, every: statusEvery}
	if limit, err := daemon.SdWatchdogEnabled(false); err == nil && limit > 0 {
		h.feeds = true
		h.every = min(statusEvery, limit/3) // two signs may be late
	}
	return h
}

// run tells until ctx is done.
func (h *herald) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		h.tellOnce(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// tellOnce takes one roll call and tells systemd what came of it. It takes no lock itself: what hangs must not hold it up.
func (h *herald) tellOnce(ctx context.Context) {
	got := h.ask(ctx)
	if ctx.Err() != nil {
		return // how long a stop may take is systemd's TimeoutStopSec
	}
	h.report(ctx, got.err)
	if got.err != nil {
		h.status("hangs: " + got.err.Error())
		return
	}
	if h.feeds {
		notifyAlive()
	}
	h.status(got.line)
}

// ask waits for the answer to a roll call, for as long as there is until the next one. One that is not answered stays open.
func (h *herald) ask(ctx context.Context) answer {
	if h.asked == nil {
		asked := make(chan answer, 1)
		go func() { asked <- h.app.rollCall(ctx) }() // ends with the process at the latest
		h.asked = asked
	}
	late := time.NewTimer(h.every)
	defer late.Stop()
	select {
	case got := <-h.asked:
		h.asked = nil
		return got
	case <-late.C:
		return answer{err: errNoAnswer}
	case <-ctx.Done():
		return answer{}
	}
}

// report logs, once each, that there is something wrong and that it is over.
func (h *herald) report(ctx context.Context, err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	switch {
	case fault != "" && h.fault == "":
		h.log.ErrorContext(ctx, "the sidecar hangs; a watchdog gets no sign of life while it does", "error", err, "watchdog", h.feeds)
	case fault == "" && h.fault != "":
		h.log.InfoContext(ctx, "the sidecar hangs no more")
	}
	h.fault = fault
}

// status tells systemd the line, if it is a new one.
func (h *herald) status(line string) {
	if line != h.said {
		h.said = line
		notifyStatus(line)
	}
}

// rollCall returns when everything that must move has answered: the main loop, the locks of all topics and pools, and
// the loops of each topic. Redis and PHP-FPM are not asked: what they do not do is no reason to start anew.
func (a *app) rollCall(ctx context.Context) answer {
	present := make(chan struct{})
	select {
	case a.roll <- present:
	case <-ctx.Done(): // the main loop has left, to stop
		return answer{}
	}
	select {
	case <-present:
	case <-ctx.Done():
		return answer{}
	}
	for _, t := range a.generation().topics {
		if err := t.consumer.Standing(standsMost); err != nil {
			return answer{err: fmt.Errorf("topic %q: %w", t.name, err)}
		}
	}
	return answer{line: a.statusLine()}
}

// statusLine says in a line how many jobs are in hand, and what keeps others from running. It asks nobody outside, and takes
// the locks of all topics and pools.
func (a *app) statusLine() string {
	g := a.generation()
	line := plural.Of(len(g.topics), "topic", "topics") + ", " + plural.Of(a.inHand(), "job", "jobs") + " in hand"
	a.mu.Lock()
	if a.refusal != "" {
		line += "; the last reload was refused, see the log"
	}
	a.mu.Unlock()
	reasons := g.knownReasons()
	if len(reasons) == 0 {
		return line
	}
	line += "; not ready: " + reasons[0]
	if n := len(reasons) - 1; n > 0 {
		line += fmt.Sprintf(" (and %d more, see /readyz)", n)
	}
	return line
}
