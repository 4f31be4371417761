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

// While the option changes nobody knows under which lease a job was claimed.
func TestLeasesOfSeveralLengthsTellBetweenWhenAJobWasClaimed(t *testing.T) {
	now := time.Unix(1000, 0)
	at := queue.ServerTime(now.UnixMicro()) //nolint:forbidigo // of a test
	const own = 30 * time.Second
	beat := func(seconds float64, ago time.Duration) queue.Heartbeat {
		b := queue.Heartbeat{At: now.Add(-ago), Topics: []string{"usual", "a"}}
		b.AddLease("usual", own)
		b.AddLease("a", time.Duration(seconds*float64(time.Second)))
		return b
	}
	for name, tt := range map[string]struct {
		beats []queue.Heartbeat
		want  queue.Leases
	}{
		"nobody tells":          {[]queue.Heartbeat{{At: now, Topics: []string{"a"}}, {At: now, Leases: map[string]float64{"": 5}}}, queue.Leases{Shortest: own, Longest: own}},
		"another configuration": {[]queue.Heartbeat{beat(60, 0)}, queue.Leases{Shortest: time.Minute, Longest: time.Minute}},
		"a change":              {[]queue.Heartbeat{beat(60, 0), beat(10, time.Minute), beat(20, 0)}, queue.Leases{Shortest: 10 * time.Second, Longest: time.Minute}},
		"as long as most":       {[]queue.Heartbeat{beat(30, 0), beat(10, 0)}, queue.Leases{Shortest: 10 * time.Second, Longest: own}},
		"one of long ago":       {[]queue.Heartbeat{beat(60, 0), beat(10, time.Hour)}, queue.Leases{Shortest: time.Minute, Longest: time.Minute}},
	} {
		if got := queue.LeasesOf(tt.beats, "a", own, now); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	leases := queue.Leases{Shortest: 10 * time.Second, Longest: time.Minute}
	for left, unrenewed := range map[time.Duration]bool{8 * time.Second: false, 4 * time.Second: true} {
		e := queue.Entry{Place: queue.InRunning, Unchanged: true, Lease: at.Add(left)}
		if first, last := leases.Claimed(e); first != at.Add(left-time.Minute) || last != at.Add(left-10*time.Second) {
			t.Errorf("claimed between %d and %d", first, last)
		}
		if got := leases.Unrenewed(e, at); got != unrenewed {
			t.Errorf("with %s left: unrenewed %t", left, got)
		}
		e.Unchanged = false
		if first, last := leases.Claimed(e); first != 0 || last != 0 || leases.Unrenewed(e, at) {
			t.Error("a renewed lease tells when its job was claimed")
		}
	}
}
