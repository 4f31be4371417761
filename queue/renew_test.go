package queue_test

import (
	"fmt"
	"testing"

	"sidecar/queue"
)

// in returns a lease that ends so many milliseconds from now, as the Keeper picks one.
func (b bench) in(t testing.TB, ms float64) queue.Lease {
	t.Helper()
	return queue.Lease(fmt.Sprintf("%.0f", b.nowMS(t)+ms))
}

func TestRenewMovesALeaseOn(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "a", "b")
	next := b.in(t, 90_000)
	lost, err := b.Renew(t.Context(), []queue.Renewal{
		{Text: "a", Held: held[0].Lease, Next: next},
		{Text: "b", Held: held[1].Lease, Next: next},
	})
	if err != nil || len(lost) != 2 || lost[0] || lost[1] {
		t.Fatalf("lost = %v, %v, want none", lost, err)
	}
	if got := b.leaseOf(t, "a"); got != next {
		t.Errorf("ZSCORE prints %q, want %q as it was asked for", got, next)
	}
	wantKeys(t, b, Keys{Running: map[string]string{"a": "90s", "b": "90s"}})
}

// The reply of the first try was lost.
func TestRenewAgainIsStillOurs(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "a")[0]
	renewal := queue.Renewal{Text: "a", Held: held.Lease, Next: b.in(t, 60_000)}
	for range 2 {
		if lost, err := b.Renew(t.Context(), []queue.Renewal{renewal}); err != nil || lost[0] {
			t.Fatalf("lost = %v, %v, want ours", lost, err)
		}
	}
	wantKeys(t, b, Keys{Running: map[string]string{"a": "1m"}})
}

func TestRenewOfALostLeaseChangesNothing(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "a", "b")
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+5000, "a") // somebody else claimed it
	b.do(t, "ZREM", b.keys.Running, "b")                  // or it is gone
	next := b.in(t, 60_000)
	lost, err := b.Renew(t.Context(), []queue.Renewal{
		{Text: "a", Held: held[0].Lease, Next: next},
		{Text: "b", Held: held[1].Lease, Next: next},
	})
	if err != nil || !lost[0] || !lost[1] {
		t.Errorf("lost = %v, %v, want both", lost, err)
	}
	wantKeys(t, b, Keys{Running: map[string]string{"a": "5s"}})
}

// A renewal that reaches Redis after its own end would hand the job to the next scan.
func TestRenewNeverSetsALeaseThatHasEnded(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "a")[0]
	lost, err := b.Renew(t.Context(), []queue.Renewal{{Text: "a", Held: held.Lease, Next: b.in(t, -10)}})
	if err != nil || lost[0] {
		t.Errorf("lost = %v, %v, want it still ours", lost, err)
	}
	if got := b.leaseOf(t, "a"); got != held.Lease {
		t.Errorf("lease is %q, want %q as it was", got, held.Lease)
	}
}

func TestRenewOfManyGoesInSeveralCalls(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Batch = 500 })
	var list []queue.Renewal
	for i := range 450 {
		list = append(list, queue.Renewal{Text: fmt.Sprintf("t%03d", i)})
		b.ready(t, list[i].Text)
	}
	c, err := b.Claim(t.Context(), 450)
	if err != nil {
		t.Fatal(err)
	}
	next := b.in(t, 60_000)
	for i := range list {
		list[i].Held, list[i].Next = c.List[i].Lease, next
	}
	b.do(t, "ZREM", b.keys.Running, "t300")
	lost, err := b.Renew(t.Context(), list)
	if err != nil || len(lost) != 450 {
		t.Fatalf("%d answers, %v", len(lost), err)
	}
	for i, l := range lost {
		if l != (i == 300) {
			t.Errorf("t%03d lost = %v", i, l)
		}
	}
	if calls := b.do(t, "ZCOUNT", b.keys.Running, string(next), string(next)); calls != int64(449) {
		t.Errorf("%v leases were moved on, want 449", calls)
	}
}
