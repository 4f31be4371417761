package queue

import (
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestRatesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{"100/s": {100, time.Second}, "300/m": {300, time.Minute}, "50/h": {50, time.Hour}, "": {}} {
		got, err := ParseRate(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"100", "0/s", "-1/s", "1.5/s", "100/d", "/s", "1000001/s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// In no span of time are there more tokens than the rate and one burst, and over a long one no fewer than the rate.
func TestABucketNeverGivesMoreThanTheRateAndABurst(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, rate := range []Rate{{100, time.Second}, {7, time.Second}, {300, time.Minute}, {50, time.Hour}, {50_000, time.Second}} {
		b := newBucket(rate, start)
		burst := max(1, rate.perSecond()/10)
		got, now := 0, start
		for got < 5000 && now.Sub(start) < 100*time.Hour {
			n, wait := b.ready(now)
			if n == 0 {
				now = now.Add(wait)
				continue
			}
			got += b.take(min(n, 500), now)
			if most := burst + rate.perSecond()*now.Sub(start).Seconds() + 1e-6; float64(got) > most {
				t.Fatalf("%s: %d after %s, want at most %f", rate, got, now.Sub(start), most)
			}
		}
		if want := rate.perSecond() * now.Sub(start).Seconds(); math.Abs(float64(got)-want) > burst+1 {
			t.Errorf("%s: %d after %s, want about %f", rate, got, now.Sub(start), want)
		}
	}
}

func TestAHighRateIsWaitedForInTranches(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := newBucket(Rate{1000, time.Second}, now)
	b.take(1000, now)
	if _, wait := b.ready(now); wait < 19*time.Millisecond || wait > 21*time.Millisecond {
		t.Errorf("waits %s for the next claim, want 20ms", wait)
	}
}

func TestTokensThatNoJobUsedComeBackAndNoMore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := newBucket(Rate{100, time.Second}, now)
	if got := b.take(500, now); got != 10 {
		t.Errorf("%d at once, want 10", got)
	}
	b.put(4)
	b.put(400)
	if got := b.take(500, now); got != 10 {
		t.Errorf("%d after as many came back, want a burst of 10", got)
	}
	b.rerate(Rate{1000, time.Second}, now)
	if got := b.take(500, now); got != 0 {
		t.Errorf("another rate gave %d at once", got)
	}
}

// The wait for tokens in a Feeder's place, in a time that only the test moves.
func TestWhoWaitsForTheRateGetsItsTokensInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := DefaultOptions()
		opts.Topic, opts.Rate = "mail", Rate{100, time.Second}
		b := newBrake(opts, time.UTC, NewMetrics(prometheus.NewRegistry(), nil).topic("mail"), slog.New(slog.DiscardHandler))
		at, began, got := newStation(), time.Now(), 0
		for time.Since(began) < 700*time.Millisecond {
			n := b.spend(b.allowance(t.Context(), 500, at))
			got += n
			b.refund(0)
		}
		if got < 78 || got > 82 {
			t.Errorf("%d in %s, want 80: 10 at once and 70", got, time.Since(began))
		}
		if err := b.excuse(at); err == nil {
			t.Error("the watchdog is not told")
		}
		holds := b.holds()
		if len(holds) != 1 || holds[0].Kind != HoldRate || holds[0].Reason != "100/s" {
			t.Errorf("held by %+v", holds)
		}
		opts.Rate = Rate{}
		b.set(opts, time.UTC)
		if n := b.allowance(t.Context(), 500, at); n != 500 {
			t.Errorf("%d without a rate", n)
		}
	})
}
