package queue

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheServerClockIsTheLastReplyPlusWhatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock serverClock
		if got := clock.now(); got != 0 {
			t.Errorf("before the first reply: got %d, want 0", got)
		}
		const server ServerTime = 1_732_900_000_123_456
		clock.set(server, time.Now())
		pause(t.Context(), 1500*time.Millisecond)
		if got, want := clock.now(), server+1_500_000; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		clock.set(0, time.Now()) // a reply that carried no time
		if got, want := clock.now(), server+1_500_000; got != want {
			t.Errorf("after an empty reading: got %d, want %d", got, want)
		}
		clock.set(server-9_000_000, time.Now()) // Redis's clock was set back
		if got, want := clock.now(), server-9_000_000; got != want {
			t.Errorf("after the server's clock jumped: got %d, want %d", got, want)
		}
	})
}

func TestALeaseIsAskedForInWholeMilliseconds(t *testing.T) {
	if got, want := leaseAt(1_732_900_000_123_999), Lease("1732900000123"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheEndOfALeaseCanBeRead(t *testing.T) {
	tests := map[Lease]struct {
		want ServerTime
		ok   bool
	}{
		"1732900000123":          {1_732_900_000_123_000, true},
		"1732900000123.4567":     {1_732_900_000_123_456, true},
		"1.7329000001234567e+12": {1_732_900_000_123_456, true},
		"0":                      {0, true},
		"-1":                     {0, false},
		"inf":                    {0, false},
		"-inf":                   {0, false},
		"nan":                    {0, false},
		"1e300":                  {0, false},
		"":                       {0, false},
	}
	for lease, tt := range tests {
		got, ok := leaseEnd(lease)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %d, %t, want %d, %t", lease, got, ok, tt.want, tt.ok)
		}
	}
}

// A process may stand still between Redis's answer and the moment it reads it.
func TestAReplyThatWasLongUnderWayMakesTheClockNoLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock serverClock
		const server ServerTime = 1_732_900_000_000_000
		asked := time.Now()
		pause(t.Context(), 4*time.Second)
		clock.set(server, asked)
		if got, want := clock.now(), server.Add(4*time.Second); got != want {
			t.Errorf("got %d, want %d: Redis's clock has gone on meanwhile", got, want)
		}
		pause(t.Context(), time.Second)
		if got, want := clock.earliest(), server.Add(time.Second); got != want {
			t.Errorf("at the earliest: got %d, want %d: Redis may have answered just before it was read", got, want)
		}
	})
}
