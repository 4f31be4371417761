package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitsGrowWithTheSquareAndStopAtTheMost(t *testing.T) {
	b := backoff{most: time.Second}
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 10 * time.Millisecond, 2: 40 * time.Millisecond, 9: 810 * time.Millisecond, 10: time.Second, 1 << 40: time.Second,
	} {
		b.failures = failures
		if got := b.length(); got != want {
			t.Errorf("after %d failures: got %s, want %s", failures, got, want)
		}
	}
}

func TestAWaitIsSpreadByHalf(t *testing.T) {
	const d = time.Second
	least, most := d*10, time.Duration(0)
	for range 2000 {
		got := spread(d)
		least, most = min(least, got), max(most, got)
	}
	if least < d/2 || most > d*3/2 {
		t.Errorf("got %s to %s, want within 500ms to 1.5s", least, most)
	}
	if most-least < d*8/10 {
		t.Errorf("got only %s to %s, want nearly 500ms to 1.5s", least, most)
	}
	if got := spread(0); got != 0 {
		t.Errorf("spread(0) = %s, want 0", got)
	}
}

func TestABackoffWaitsItsTimeAndForgetsItsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff{most: time.Second}
		began := time.Now()
		for range 100 {
			b.wait(t.Context())
		}
		// Nine growing waits, then one second each, all spread by half.
		if took := time.Since(began); took < 60*time.Second || took > 140*time.Second {
			t.Errorf("100 waits took %s, want about 94 s", took)
		}
		b.reset()
		began = time.Now()
		b.wait(t.Context())
		if took := time.Since(began); took > 15*time.Millisecond {
			t.Errorf("first wait after a success took %s, want at most 15ms", took)
		}
	})
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if pause(ctx, time.Hour) {
			t.Error("pause says that its context lives")
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("pause took %s, want 1s", took)
		}
		if pause(ctx, 0) {
			t.Error("an empty pause says that its dead context lives")
		}
		if !pause(t.Context(), -time.Second) {
			t.Error("a negative pause says that its context is dead")
		}
	})
}
