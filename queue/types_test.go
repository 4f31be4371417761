package queue_test

import (
	"testing"
	"time"

	"sidecar/queue"
)

func TestServerTimeCountsMicroseconds(t *testing.T) {
	at := queue.ServerTime(1_760_000_000_123_456)
	later := at.Add(1500 * time.Millisecond)
	if later != at+1_500_000 || later.Sub(at) != 1500*time.Millisecond || at.Sub(later) != -1500*time.Millisecond {
		t.Errorf("1.5 s after %d is %d", at, later)
	}
	if at.IsZero() || !queue.ServerTime(0).IsZero() {
		t.Error("only 0 is no time")
	}
	zone := time.FixedZone("X", 8*3600)
	if got, want := at.In(zone).Format("2006-01-02 15:04:05.000000"), "2025-10-09 16:53:20.123456"; got != want {
		t.Errorf("in zone X it is %s, want %s", got, want)
	}
}

func TestSettlementsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for s := queue.Settled; s <= queue.Readded; s++ {
		if name := s.String(); name == "unknown" || seen[name] {
			t.Errorf("settlement %d is called %q", s, name)
		} else {
			seen[name] = true
		}
	}
	if got := queue.Settlement(0).String(); got != "unknown" {
		t.Errorf("0 is called %q, want unknown: a forgotten value is none", got)
	}
}
