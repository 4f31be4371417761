package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// How often a process asks which topics are paused: one call for all of them. It is spread by half, so that a pause
// reaches everybody in little more than a second.
const (
	pausePoll  = 700 * time.Millisecond
	deniedPoll = 15 * time.Second // where this user may not read them
)

// PauseWatch tells the consumers of a process what is paused for all sidecars. While Redis does not say, what was last
// known holds, but for a pause whose end has come.
type PauseWatch struct {
	pauses    *Pauses
	consumers map[string]*Consumer // by topic
	log       *slog.Logger

	mu    sync.Mutex // guards what follows, and the order in which consumers are told
	known map[string]Pause
	now   time.Time // Redis's time as it was last told, and
	asked time.Time // when it was asked for; zero: never
	fault Fault     // why Redis does not say; 0: it does
}

// NewPauseWatch returns a watch that tells consumers, by topic.
func NewPauseWatch(pauses *Pauses, consumers map[string]*Consumer, log *slog.Logger) *PauseWatch {
	return &PauseWatch{pauses: pauses, consumers: consumers, log: log}
}

// Run looks again and again until ctx is done.
func (w *PauseWatch) Run(ctx context.Context) {
	var next time.Time
	for pause(ctx, spread(pausePoll)) {
		if time.Now().Before(next) {
			w.tell(ctx)
			continue
		}
		if FaultOf(w.Look(ctx)) == NoPerm { // that will not change from one second to the next
			next = time.Now().Add(deniedPoll)
		}
	}
}

// Look asks what is paused and tells the consumers. It is for whoever has just paused a topic, too: in this process that
// takes effect at once.
func (w *PauseWatch) Look(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault != 0 { // the answer may take long, and what ends meanwhile is known
		w.tellLocked(ctx)
	}
	asked := time.Now()
	known, now, err := w.pauses.All(ctx)
	if ctx.Err() == nil {
		w.noteLocked(ctx, err)
	}
	if err == nil {
		w.known, w.now, w.asked = known, now, asked
	}
	w.tellLocked(ctx)
	return err
}

// tell tells the consumers what is known.
func (w *PauseWatch) tell(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLocked(ctx)
}

func (w *PauseWatch) tellLocked(ctx context.Context) {
	now := time.Now()
	if !w.asked.IsZero() {
		now = w.now.Add(time.Since(w.asked))
	}
	for topic, consumer := range w.consumers {
		if p, paused := w.known[topic]; paused {
			consumer.Look(ctx, now, &p)
			continue
		}
		consumer.Look(ctx, now, nil)
	}
}

// noteLocked tells of faults that nobody else tells of, when they begin and when they end.
func (w *PauseWatch) noteLocked(ctx context.Context, err error) {
	fault := Fault(0)
	if err != nil {
		fault = FaultOf(err)
	}
	if was := w.fault; fault != was {
		w.fault = fault
		switch {
		case err != nil && !fault.OfServer():
			w.log.WarnContext(ctx, "cannot read which topics are paused: what was last known holds", "fault", fault.String(), "error", err)
		case err == nil && !was.OfServer():
			w.log.InfoContext(ctx, "can read again which topics are paused")
		}
	}
}
