package queue_test

import (
	"testing"
	"time"

	"sidecar/queue"
)

func TestAnOldConsumersClaimIsKnownByItsLease(t *testing.T) {
	b := newBench(t, nil)
	for _, claim := range b.claimed(t, text("a"), text("b"), text("c")) {
		if queue.IsOldClaim(string(claim.Lease)) {
			t.Errorf("%s is taken for an old consumer's", claim.Lease)
		}
	}
	for score, want := range map[string]bool{
		"1796050000123": true, "1.796050000123e+12": true, "1796050000100": false, "1796050000000": false,
		"1796050000123.5": false, "0": false, "-17": false, "inf": false, "nan": false, "": false,
	} {
		if got := queue.IsOldClaim(score); got != want {
			t.Errorf("%q: %t, want %t", score, got, want)
		}
	}
}

// Renewed leases of ours end on whole milliseconds, too.
func TestARenewedLeaseIsNotTakenForAnOldConsumers(t *testing.T) {
	short := func(o *queue.Options) { o.Lease = time.Second }
	b := newBench(t, short)
	b.ready(t, text("a"))
	r := newRuns()
	release := make(chan struct{})
	startFlow(t, b, short, r.halves(release))
	eventually(t, "a renewal", func() bool {
		list := b.rdb.ZRangeWithScores(t.Context(), b.keys.Running, 0, -1).Val()
		return len(list) == 1 && list[0].Score == float64(int64(list[0].Score))
	})
	score := b.rdb.ZScore(t.Context(), b.keys.Running, text("a")).Val()
	if int64(score)%100 != 0 {
		t.Errorf("it is renewed to %f", score)
	}
	close(release)
}

func TestLeasesTellNothingWhileAnOlderSidecarRenews(t *testing.T) {
	now := time.Unix(1000, 0)
	young := queue.Heartbeat{At: now, Topics: []string{"a"}, Settings: map[string]string{"a": "12"}}
	old := queue.Heartbeat{At: now.Add(-time.Minute), Topics: []string{"a", "b"}, Stopped: true}
	if !queue.KnownByLeases([]queue.Heartbeat{young}, "a", now) || queue.KnownByLeases([]queue.Heartbeat{young, old}, "a", now) ||
		!queue.KnownByLeases([]queue.Heartbeat{young, old}, "a", now.Add(time.Hour)) {
		t.Error("want leases to tell unless an older sidecar was there lately")
	}
}
