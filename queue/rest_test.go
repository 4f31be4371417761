package queue

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// restingScanner returns a Scanner that has nothing to do but rest: no expired claims for an hour.
func restingScanner(tracking bool, wake <-chan struct{}) *Scanner {
	return &Scanner{
		at:     newStation(),
		wake:   wake,
		rhythm: rhythm{scanInterval: 100 * time.Millisecond, tracking: func() bool { return tracking }},
		expiry: &expiry{next: time.Now().Add(time.Hour)},
		log:    slog.New(slog.DiscardHandler),
	}
}

func TestAScannerRestsUntilTheNextTextIsDue(t *testing.T) {
	const now = epoch
	tests := map[string]struct {
		tracking    bool
		promotion   Promotion
		least, most time.Duration
	}{
		"nothing due, polling":    {false, Promotion{Now: now}, 100 * time.Millisecond, 100 * time.Millisecond},
		"nothing due, tracking":   {true, Promotion{Now: now}, slowPoll / 2, slowPoll * 3 / 2},
		"due in 30 ms":            {false, Promotion{Now: now, Next: now + 30_000}, 30 * time.Millisecond, 30 * time.Millisecond},
		"due in 30 ms, tracking":  {true, Promotion{Now: now, Next: now + 30_000}, 30 * time.Millisecond, 30 * time.Millisecond},
		"due in an hour, polling": {false, Promotion{Now: now, Next: now.Add(time.Hour)}, 100 * time.Millisecond, 100 * time.Millisecond},
		"due already":             {true, Promotion{Now: now, Next: now - 5}, dueGap, dueGap},
		"due in a moment":         {true, Promotion{Now: now, Next: now + 5}, dueGap, dueGap},
		"ready is full":           {true, Promotion{Now: now, Backpressure: true}, 100 * time.Millisecond, 100 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				restingScanner(tt.tracking, nil).rest(t.Context(), tt.promotion, began)
				if took := time.Since(began); took < tt.least || took > tt.most {
					t.Errorf("rested %s, want %s to %s", took, tt.least, tt.most)
				}
			})
		})
	}
}

func TestAWakeUpEndsTheRestButNotTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		s := restingScanner(true, wake)

		wake <- struct{}{} // the echo of our own promotion
		began := time.Now()
		s.rest(t.Context(), Promotion{Now: epoch}, began)
		if took := time.Since(began); took != wakeGap {
			t.Errorf("rested %s, want %s", took, wakeGap)
		}

		time.AfterFunc(time.Second, func() { wake <- struct{}{} })
		began = time.Now()
		s.rest(t.Context(), Promotion{Now: epoch}, began)
		if took := time.Since(began); took != time.Second {
			t.Errorf("woken after 1s, rested %s", took)
		}

		wake <- struct{}{} // a due time comes before the gap is over
		began = time.Now()
		s.rest(t.Context(), Promotion{Now: epoch, Next: epoch + 700}, began)
		if took := time.Since(began); took != 700*time.Microsecond {
			t.Errorf("rested %s, want 700µs", took)
		}

		wake <- struct{}{} // whatever comes, a full ready takes none of it
		began = time.Now()
		s.rest(t.Context(), Promotion{Now: epoch, Backpressure: true}, began)
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("rested %s at backpressure, want 100ms", took)
		}
	})
}

func TestARestEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		restingScanner(true, nil).rest(ctx, Promotion{Now: epoch}, began)
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("rested %s, want 1ms", took)
		}
	})
}

func TestAFeederWaitsForAWakeUpAHintOrThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake, hint := make(chan struct{}, 1), make(chan struct{}, 1)
		f := &Feeder{wake: wake, hint: hint, rhythm: rhythm{scanInterval: 100 * time.Millisecond, tracking: func() bool { return true }}}
		waited := func() time.Duration {
			f.answered = time.Now()
			f.awaitReady(t.Context())
			return time.Since(f.answered)
		}
		if took := waited(); took < slowPoll/2 || took > slowPoll*3/2 {
			t.Errorf("waited %s for nothing, want about %s", took, slowPoll)
		}
		hint <- struct{}{}
		if took := waited(); took != 0 {
			t.Errorf("waited %s although the scanner has something", took)
		}
		wake <- struct{}{}
		if took := waited(); took != wakeGap {
			t.Errorf("waited %s after the echo of its own claim, want %s", took, wakeGap)
		}
		wake <- struct{}{}
		time.AfterFunc(time.Millisecond, func() { hint <- struct{}{} })
		if took := waited(); took != time.Millisecond {
			t.Errorf("waited %s, want 1ms: a hint is no echo", took)
		}
	})
}
