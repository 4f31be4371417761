package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
)

func TestErrorsThatDifferByTheJobAloneAreOneClass(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"order 17 not found", "order 18 not found"},
		{"SQLSTATE[HY000] [2002] Connection refused", "SQLSTATE[HY000] [2006] Connection refused"},
		{"订单123不存在", "订单4567不存在"},
		{"no answer from 10.0.0.1:6379", "no answer from 10.12.0.253:6380"},
		{"job 6f1c1f34-0f6e-4c57-9d0e-3b5f6a3c2d11 is gone", "job 00000000-0000-4000-8000-000000000000 is gone"},
		{"ord_web_1001 is paid", "ord_web_7 is paid"},
		{"it broke\n#0 /srv/a.php(12)", "it broke\n#0 /srv/b.php(13)"},
		{"at 12:30:01", "at 7:05:59"},
		{"  two   spaces", "two spaces"},
	} {
		if a, b := ErrorClass(same[0]), ErrorClass(same[1]); a != b {
			t.Errorf("%q and %q are %q and %q", same[0], same[1], a, b)
		}
	}
	if a, b := ErrorClass("order 17 not found"), ErrorClass("order 17 not paid"); a == b {
		t.Errorf("both are %q", a)
	}
	if class := ErrorClass("call +86 138 0013 8000 now, x" + strings.Repeat("y", 5000)); strings.Contains(class, "138") || len([]rune(class)) > classMost {
		t.Errorf("class %q", class)
	}
}

// feed gives a breaker outcomes of one job each, and returns after how many it trips; 0 for never.
func feed(b *breaker, outcomes ...compat.Outcome) int {
	for i, o := range outcomes {
		if b.saw(fmt.Sprint("job", i), o, time.Time{}) {
			return i + 1
		}
	}
	return 0
}

func repeat(n int, list ...compat.Outcome) (all []compat.Outcome) {
	for range n {
		all = append(all, list...)
	}
	return all
}

func TestABreakerTripsOnEqualFailuresInARowOnly(t *testing.T) {
	t.Parallel()
	fails := func(text string) compat.Outcome { return compat.Outcome{Verdict: compat.Failed, Error: text} }
	done := compat.Outcome{Verdict: compat.Done}
	a, b := fails("a 1"), fails("b")
	for name, tt := range map[string]struct {
		outcomes []compat.Outcome
		want     int
	}{
		"the third":                    {repeat(3, a), 3},
		"a success between":            {repeat(50, a, a, done), 0},
		"two errors by turns":          {repeat(50, a, b), 0},
		"a mixed stream":               {repeat(50, a, a, b, done, b, b, done), 0},
		"another outcome of that text": {repeat(50, a, a, compat.Outcome{Verdict: compat.Crashed, Error: "a 1"}), 0},
		"deferrals say nothing":        {repeat(3, a, compat.Outcome{Verdict: compat.Deferred}), 5},
		"nor what did not run":         {repeat(3, a, compat.Outcome{Verdict: compat.Unavailable, Error: "x"}), 5},
		"rejections count":             {repeat(3, compat.Outcome{Verdict: compat.Rejected, Error: "x"}), 3},
		"timeouts count":               {repeat(3, compat.Outcome{Verdict: compat.TimedOut, Error: "x"}), 3},
	} {
		if got := feed(&breaker{limit: 3, every: time.Second}, tt.outcomes...); got != tt.want {
			t.Errorf("%s: trips after %d, want %d", name, got, tt.want)
		}
	}
	if got := feed(&breaker{}, repeat(1000, a)...); got != 0 {
		t.Errorf("without a limit it trips after %d", got)
	}
}

func TestOneJobThatFailsAgainAndAgainTripsNothing(t *testing.T) {
	t.Parallel()
	b := breaker{limit: 3, every: time.Second}
	for range 100 {
		if b.saw("same", compat.Outcome{Verdict: compat.Failed, Error: "x"}, time.Time{}) {
			t.Fatal("it tripped")
		}
	}
}

func TestAProbesSuccessOpensABreakerAndItsFailureDoesNot(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := breaker{limit: 2, every: 30 * time.Second}
	failed := compat.Outcome{Verdict: compat.Failed, Error: "x"}
	b.saw("a", failed, now)
	if !b.saw("b", failed, now) {
		t.Fatal("it did not trip")
	}
	if b.saw("c", compat.Outcome{Verdict: compat.Done}, now); b.trip == nil {
		t.Error("a run that began before has opened it")
	}
	mayAt := func(d time.Duration) bool { may, _ := b.trip.mayProbe(now.Add(d)); return may }
	if mayAt(29*time.Second) || !mayAt(30*time.Second) {
		t.Error("no probe after 30 s, or one before")
	}
	if b.probed(compat.Outcome{Verdict: compat.Failed, Error: "another"}, now.Add(31*time.Second)) || mayAt(60*time.Second) || !mayAt(61*time.Second) {
		t.Error("after a probe that failed there is not one 30 s later")
	}
	if b.probed(compat.Outcome{Verdict: compat.Unavailable}, now.Add(70*time.Second)) || !mayAt(71*time.Second) {
		t.Error("after a probe that did not run there is not one a second later")
	}
	b.trip.probe = &pass{done: make(chan struct{})}
	if mayAt(time.Hour) {
		t.Error("two probes at once")
	}
	if !b.probed(compat.Outcome{Verdict: compat.Done}, now.Add(80*time.Second)) || b.trip != nil {
		t.Error("a success does not open it")
	}
	b.saw("a", failed, now)
	b.saw("b", failed, now)
	if b.set(0, time.Second); b.trip != nil {
		t.Error("a topic without a breaker is held by one")
	}
}
