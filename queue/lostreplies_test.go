package queue

import (
	"testing"
	"time"
)

func TestAClaimWhoseReplyWasLostIsRecognizedByItsLease(t *testing.T) {
	const sent ServerTime = 1_732_900_000_000_000
	l := &lostReplies{}
	l.add(sent, sent.Add(3*time.Second), 30*time.Second)
	tests := map[string]struct {
		claimed ServerTime
		want    bool
	}{
		"while it was under way":    {sent.Add(2 * time.Second), true},
		"at its start":              {sent, true},
		"a little after it ended":   {sent.Add(3900 * time.Millisecond), true},
		"long before":               {sent.Add(-2 * time.Second), false},
		"long after":                {sent.Add(5 * time.Second), false},
		"renewed since, so it runs": {sent.Add(12 * time.Second), false},
	}
	for name, tt := range tests {
		if got := l.covers(leaseAt(tt.claimed.Add(30 * time.Second))); got != tt.want {
			t.Errorf("claimed %s: got %t, want %t", name, got, tt.want)
		}
	}
	if l.covers("inf") {
		t.Error("a lease that never ends is covered")
	}
}

func TestOnlyTheLastLostRepliesAreKept(t *testing.T) {
	l := &lostReplies{}
	l.add(0, 5, time.Second) // Redis's clock was not known yet
	for i := range 10 * lostRepliesKept {
		l.add(ServerTime(i+1), ServerTime(i+2), time.Second)
	}
	if got := len(l.windows); got != lostRepliesKept {
		t.Errorf("got %d windows, want %d", got, lostRepliesKept)
	}
}
