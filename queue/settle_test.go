package queue_test

import (
	"fmt"
	"testing"
	"time"

	"sidecar/queue"
)

const someoneElses = 7777 // ms from now: a lease that somebody else wrote

// states a running entry can be in when its job is settled, and what the settlement is then. mine is
// what Held and Next are made of.
func settleOne(t *testing.T, b bench, verb string, text string, held, next queue.Lease, expired bool) queue.SettleResult {
	t.Helper()
	var results []queue.SettleResult
	var err error
	switch verb {
	case "complete":
		results, err = b.Complete(t.Context(), []queue.Completion{{Text: text, Held: held, Next: next, UUID: "u1"}})
	case "requeue":
		results, err = b.Requeue(t.Context(), []queue.Requeueing{{
			Text: text, Held: held, Next: next, NewText: text + "'", Delay: 5 * time.Second, UUID: "u1", Expired: expired,
		}})
	case "bury":
		results, err = b.Bury(t.Context(), []queue.Burial{{
			Text: text, Held: held, Next: next, Record: "dead " + text, UUID: "u1", Expired: expired,
		}})
	}
	if err != nil || len(results) != 1 || results[0].Err != nil {
		t.Fatalf("%s: %v, %v", verb, results, err)
	}
	return results[0]
}

// afterSettling is what each verb of settleOne leaves of the text "j".
func afterSettling() map[string]Keys {
	return map[string]Keys{
		"complete": {},
		"requeue":  {Pool: map[string]string{"j'": "5s"}},
		"bury":     {Dead: []string{"dead j"}},
	}
}

func TestSettlingUnderOurLease(t *testing.T) {
	for verb, keys := range afterSettling() {
		b := newBench(t, nil)
		held := b.claimed(t, "j")[0].Lease
		if r := settleOne(t, b, verb, "j", held, "", false); r.Settlement != queue.Settled {
			t.Errorf("%s: %s, want settled", verb, r.Settlement)
		}
		wantKeys(t, b, keys)
	}
}

// Whether a renewal under way came through is not known: both leases are ours.
func TestSettlingUnderEitherLeaseOfARenewal(t *testing.T) {
	for _, verb := range []string{"complete", "requeue", "bury"} {
		for _, renewed := range []bool{false, true} {
			b := newBench(t, nil)
			held, next := b.claimed(t, "j")[0].Lease, b.in(t, 60_000)
			if renewed {
				if _, err := b.Renew(t.Context(), []queue.Renewal{{Text: "j", Held: held, Next: next}}); err != nil {
					t.Fatal(err)
				}
			}
			if r := settleOne(t, b, verb, "j", held, next, false); r.Settlement != queue.Settled {
				t.Errorf("%s, renewed %v: %s, want settled", verb, renewed, r.Settlement)
			}
		}
	}
}

func TestSettlingALostLeaseChangesNothing(t *testing.T) {
	for _, verb := range []string{"complete", "requeue", "bury"} {
		b := newBench(t, nil)
		held := b.claimed(t, "j")[0].Lease
		b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+someoneElses, "j")
		if r := settleOne(t, b, verb, "j", held, b.in(t, 60_000), false); r.Settlement != queue.Lost {
			t.Errorf("%s: %s, want lost", verb, r.Settlement)
		}
		wantKeys(t, b, Keys{Running: map[string]string{"j": fmt.Sprint(someoneElses) + "ms"}})
	}
}

// Scores as the old consumer and hand-written tools leave them are leases like any other.
func TestSettlingUnderForeignScores(t *testing.T) {
	for _, score := range []string{"1732900000123.4567", "1732900000123", "0", "-1.5", "1e20", "inf"} {
		b := newBench(t, nil)
		b.do(t, "ZADD", b.keys.Running, score, "j")
		lease := b.leaseOf(t, "j")
		if r := settleOne(t, b, "requeue", "j", lease, "", true); r.Settlement != queue.Settled {
			t.Errorf("score %s, printed %s: %s, want settled", score, lease, r.Settlement)
		}
		wantKeys(t, b, Keys{Pool: map[string]string{"j'": "5s"}})
	}
}

func TestSettlingAnExpiredClaimThatIsGoneIsSkipped(t *testing.T) {
	for _, verb := range []string{"requeue", "bury"} {
		b := newBench(t, nil)
		held := b.claimed(t, "j")[0].Lease
		b.do(t, "ZREM", b.keys.Running, "j")
		if r := settleOne(t, b, verb, "j", held, "", true); r.Settlement != queue.Skipped {
			t.Errorf("%s: %s, want skipped", verb, r.Settlement)
		}
		wantKeys(t, b, Keys{})
	}
}

func TestSettlingWhenTheRunningEntryIsGone(t *testing.T) {
	const farAway = 60_000 // where the pool has it, ms from now
	inPool, inReady := "pool", "ready"
	tests := map[string]struct {
		verb  string
		ended bool   // our lease has ended
		found string // where the text lies
		want  queue.Settlement
		keys  Keys
	}{
		"success":                              {verb: "complete", want: queue.Gone},
		"success, text in the pool":            {verb: "complete", found: inPool, want: queue.Gone, keys: Keys{Pool: map[string]string{"j": "1m"}}},
		"failure, text in the pool":            {verb: "requeue", found: inPool, want: queue.Gone, keys: Keys{Pool: map[string]string{"j'": "5s"}}},
		"failure, ended, text in the pool":     {verb: "requeue", ended: true, found: inPool, want: queue.Gone, keys: Keys{Pool: map[string]string{"j'": "5s"}}},
		"failure within the lease":             {verb: "requeue", want: queue.Readded, keys: Keys{Pool: map[string]string{"j'": "5s"}}},
		"failure within the lease, a twin":     {verb: "requeue", found: inReady, want: queue.Readded, keys: Keys{Pool: map[string]string{"j'": "5s"}, Ready: []string{"j"}}},
		"failure, ended, with the others":      {verb: "requeue", ended: true, found: inReady, want: queue.Gone, keys: Keys{Ready: []string{"j"}}},
		"failure, ended, nowhere":              {verb: "requeue", ended: true, want: queue.Gone},
		"last failure, text in the pool":       {verb: "bury", found: inPool, want: queue.Gone, keys: Keys{Dead: []string{"dead j"}}},
		"last failure within the lease":        {verb: "bury", want: queue.Readded, keys: Keys{Dead: []string{"dead j"}}},
		"last failure, ended, with the others": {verb: "bury", ended: true, found: inReady, want: queue.Gone, keys: Keys{Ready: []string{"j"}}},
		"last failure, ended, nowhere":         {verb: "bury", ended: true, want: queue.Gone},
	}
	server := newBench(t, nil).server
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := benchOn(server, nil)
			b.do(t, "FLUSHALL")
			held := b.in(t, 30_000)
			if test.ended {
				held = b.in(t, -5)
			}
			switch test.found {
			case inPool:
				b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+farAway, "j")
			case inReady:
				b.ready(t, "j")
			}
			if r := settleOne(t, b, test.verb, "j", held, "", false); r.Settlement != test.want {
				t.Errorf("%s, want %s", r.Settlement, test.want)
			}
			wantKeys(t, b, test.keys)
		})
	}
}

// The reply of the first try was lost on the way, so the same thing is offered once more.
func TestSettlingAgainDoublesNothing(t *testing.T) {
	for verb, keys := range afterSettling() {
		b := newBench(t, nil)
		held := b.claimed(t, "j")[0].Lease
		settleOne(t, b, verb, "j", held, "", false)
		if r := settleOne(t, b, verb, "j", held, "", false); r.Settlement != queue.Gone {
			t.Errorf("%s: %s, want gone", verb, r.Settlement)
		}
		wantKeys(t, b, keys)
	}
}

func TestRequeueAgainFindsTheNewTextWhereverItIs(t *testing.T) {
	for _, place := range []string{"ready", "running"} {
		b := newBench(t, nil)
		held := b.claimed(t, "j")[0].Lease
		b.do(t, "ZREM", b.keys.Running, "j")
		want := Keys{Ready: []string{"j'"}}
		b.ready(t, "j'")
		if place == "running" {
			want = Keys{Running: map[string]string{"j'": "30s"}}
			if _, err := b.Claim(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if r := settleOne(t, b, "requeue", "j", held, "", false); r.Settlement != queue.Gone {
			t.Errorf("new text in %s: %s, want gone", place, r.Settlement)
		}
		wantKeys(t, b, want)
	}
}

func TestRequeueToTheHeadOfReadyKeepsTheOrder(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "a", "b", "c")
	b.ready(t, "d")
	var list []queue.Requeueing
	for _, c := range held {
		list = append(list, queue.Requeueing{Text: c.Text, Held: c.Lease, NewText: c.Text, ToReady: true, Delay: time.Hour})
	}
	for range 2 { // the second time the reply of the first was lost
		if _, err := b.Requeue(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, b, Keys{Ready: []string{"a", "b", "c", "d"}})
	}
}

func TestRequeueOfManyKeepsTheOrder(t *testing.T) {
	b := newBench(t, nil)
	var texts []string
	for i := range 450 {
		texts = append(texts, fmt.Sprintf("t%03d", i))
	}
	var list []queue.Requeueing
	for _, c := range b.claimed(t, texts...) {
		list = append(list, queue.Requeueing{Text: c.Text, Held: c.Lease, NewText: c.Text, ToReady: true})
	}
	list[7].Held = "1" // not ours
	results, err := b.Requeue(t.Context(), list)
	if err != nil || len(results) != 450 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		want := queue.Settled
		if i == 7 {
			want = queue.Lost
		}
		if r.Settlement != want {
			t.Errorf("result %d is %s, want %s", i, r.Settlement, want)
		}
	}
	wantKeys(t, b, Keys{Ready: append(append([]string{}, texts[:7]...), texts[8:]...), Running: map[string]string{"t007": "30s"}})
}

// C40: every score written back is in the topic's unit, too.
func TestRequeueWritesScoresInSeconds(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.ScoreUnit = queue.Seconds })
	held := b.claimed(t, "j")[0].Lease
	settleOne(t, b, "requeue", "j", held, "", false)
	wantKeys(t, b, Keys{Pool: map[string]string{"j'": "5s"}})
	if score := b.rdb.ZScore(t.Context(), b.keys.Pool, "j'").Val(); score > 1e11 {
		t.Errorf("score %f is not in seconds", score)
	}
}

func TestSettlingInGroupsTellsEachResult(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "mine", "lost", "gone")
	b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+someoneElses, "lost")
	b.do(t, "ZREM", b.keys.Running, "gone")
	var list []queue.Burial
	for _, c := range held {
		list = append(list, queue.Burial{Text: c.Text, Held: c.Lease, Record: "dead " + c.Text, Expired: true})
	}
	results, err := b.Bury(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []queue.Settlement{queue.Settled, queue.Lost, queue.Skipped} {
		if results[i].Settlement != want {
			t.Errorf("%s: %s, want %s", list[i].Text, results[i].Settlement, want)
		}
	}
	wantKeys(t, b, Keys{Dead: []string{"dead mine"}, Running: map[string]string{"lost": "7777ms"}})
}

func TestExpiredReadsTheClaimsWhoseLeaseHasEnded(t *testing.T) {
	b := newBench(t, nil)
	b.claimed(t, "alive")
	b.do(t, "ZADD", b.keys.Running, "1732900000123.4567", "long ended", 1732900000124, "ended", "-inf", "never was")
	list, now, err := b.Expired(t.Context(), 2)
	if err != nil || len(list) != 2 || list[0].Text != "never was" || list[1].Text != "long ended" {
		t.Fatalf("got %v, %v, want never was and long ended", list, err)
	}
	if now.IsZero() {
		t.Error("no time came with it")
	}
	for _, c := range list {
		if got := b.leaseOf(t, c.Text); got != c.Lease {
			t.Errorf("lease of %s is %q, ZSCORE prints %q", c.Text, c.Lease, got)
		}
		if r := settleOne(t, b, "requeue", c.Text, c.Lease, "", true); r.Settlement != queue.Settled {
			t.Errorf("%s: %s, want settled", c.Text, r.Settlement)
		}
	}
	wantKeys(t, b, Keys{
		Pool:    map[string]string{"never was'": "5s", "long ended'": "5s"},
		Running: map[string]string{"alive": "30s", "ended": "*"},
	})
}
