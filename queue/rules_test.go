package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
)

func testRules(t *testing.T, change func(*Options)) rules {
	t.Helper()
	opts := DefaultOptions()
	if change != nil {
		change(&opts)
	}
	clock := &serverClock{}
	clock.set(1_732_900_000_000_000, time.Now())
	return newRules(opts, clock, time.FixedZone("CST", 8*60*60))
}

func testHeld(t *testing.T, text string) *held {
	t.Helper()
	job, err := compat.ParseJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return &held{text: text, body: text, job: job, leases: []Lease{"1"}}
}

func TestAFailureChangesItsFieldsAndNothingElse(t *testing.T) {
	const text = `{ "uuid":"a" , "n":1.0, "e":{}, "retry":1, "last_error":"x"}`
	r := testRules(t, nil)
	one := r.settle(testHeld(t, text), compat.Outcome{Verdict: compat.Failed, Error: "no \"route\"/😀"})
	if one.action != Requeue || one.delay != 30*time.Second {
		t.Errorf("got %s after %s, want requeue after 30s", one.action, one.delay)
	}
	if want := `{ "uuid":"a" , "n":1.0, "e":{}, "retry":2, "last_error":"no \"route\"\/😀"}`; one.newText != want {
		t.Errorf("got %s, want %s", one.newText, want)
	}
}

func TestLastErrorIsCutAtCharacters(t *testing.T) {
	r := testRules(t, nil)
	one := r.settle(testHeld(t, `{"uuid":"a"}`), compat.Outcome{Verdict: compat.Failed, Error: strings.Repeat("错", 600)})
	if want := `{"uuid":"a","retry":1,"last_error":"` + strings.Repeat("错", 500) + `"}`; one.newText != want {
		t.Errorf("got %s, want %s", one.newText, want)
	}
}

func TestADeadRecordHoldsTheChangedJobAndTheLocalTime(t *testing.T) {
	r := testRules(t, nil)
	one := r.settle(testHeld(t, `{"uuid":"a","retry":5}`), compat.Outcome{
		Verdict: compat.Failed, Error: strings.Repeat("e", 3000), Trace: strings.Repeat("t", 3000),
	})
	want := `{"job":{"uuid":"a","retry":6,"last_error":"` + strings.Repeat("e", 500) + `"},"error":"` + strings.Repeat("e", 2000) +
		`","trace":"` + strings.Repeat("t", 2000) + `","at":"2024-11-30 01:06:40"}`
	if one.action != Bury || one.record != want {
		t.Errorf("got %s %s, want bury %s", one.action, one.record, want)
	}
}

func TestARejectedJobKeepsItsTries(t *testing.T) {
	r := testRules(t, nil)
	one := r.settle(testHeld(t, `{"uuid":"a","retry":1}`), compat.Outcome{Verdict: compat.Rejected, Error: "never"})
	want := `{"job":{"uuid":"a","retry":1,"last_error":"never"},"error":"never","trace":"","at":"2024-11-30 01:06:40"}`
	if one.action != Bury || one.record != want {
		t.Errorf("got %s %s, want bury %s", one.action, one.record, want)
	}
}

func TestACrashIsCountedInItsOwnFieldAndSpread(t *testing.T) {
	r := testRules(t, nil)
	for range 50 {
		one := r.settle(testHeld(t, `{"uuid":"a","retry":2}`), compat.Outcome{Verdict: compat.Crashed, Error: "gone"})
		if want := `{"uuid":"a","retry":2,"crashes":1,"last_error":"gone"}`; one.newText != want {
			t.Fatalf("got %s, want %s", one.newText, want)
		}
		if one.delay < 2500*time.Millisecond || one.delay > 7500*time.Millisecond {
			t.Fatalf("got a delay of %s, want 5s ± 50 %%", one.delay)
		}
	}
}

func TestWhatIsNotCountedGoesBackByteForByte(t *testing.T) {
	const text = "{\"uuid\":\"a\", \"retry\":\"2\"} \n"
	r := testRules(t, nil)
	for _, o := range []compat.Outcome{
		{Verdict: compat.Unavailable, Error: "no FPM"},
		{Verdict: compat.Deferred, Error: "later", Delay: time.Hour},
	} {
		if one := r.settle(testHeld(t, text), o); one.newText != text {
			t.Errorf("%s: got %q, want %q", o.Verdict, one.newText, text)
		}
	}
	if one := r.giveBack(testHeld(t, text)); one.action != GiveBack || one.newText != text {
		t.Errorf("got %s %q, want give_back %q", one.action, one.newText, text)
	}
}

func TestATextThatIsNoJobIsBuriedWithItsBytes(t *testing.T) {
	r := testRules(t, nil)
	const text = "a:1:{s:4:\"uuid\";s:1:\"z\";}\xff"
	one := r.unreadable(&held{text: text, body: text}, errors.New("not a JSON object"))
	record, err := compat.ParseDeadRecord(one.record)
	if err != nil {
		t.Fatal(err)
	}
	if one.action != Bury || record.Job != text || record.Error != "not a JSON object" {
		t.Errorf("got %s of %q for %q", one.action, record.Job, record.Error)
	}
}

func TestMarksAreTouchedOnlyWhereTheyCount(t *testing.T) {
	h := testHeld(t, `{"uuid":"a"}`)
	for mode, want := range map[Idempotency]string{IdempotencyOff: "", IdempotencyOn: "a", IdempotencyLegacy: "a"} {
		r := testRules(t, func(o *Options) { o.Idempotency = mode })
		for name, one := range map[string]*settlement{
			"done":        r.settle(h, compat.Outcome{Verdict: compat.Done}),
			"failed":      r.settle(h, compat.Outcome{Verdict: compat.Failed}),
			"given back":  r.giveBack(h),
			"done before": r.done(h),
		} {
			if one.uuid != want {
				t.Errorf("%s with idempotency %s: got mark %q, want %q", name, mode, one.uuid, want)
			}
		}
	}
}

func TestAClaimWhoseScriptMayStillRunIsLeft(t *testing.T) {
	if one := testRules(t, nil).settle(testHeld(t, `{}`), compat.Outcome{Verdict: compat.Unavailable, Held: true}); one != nil {
		t.Errorf("got %s, want no settlement", one.action)
	}
}

func TestOnlyALastRunAfterExpiredLeasesIsAlone(t *testing.T) {
	tests := map[string]struct {
		text string
		want bool
	}{
		"lease expired, one crash left":  {`{"crashes":5,"last_error":"lease expired: x"}`, true},
		"lease expired, two left":        {`{"crashes":4,"last_error":"lease expired: x"}`, false},
		"crashed in somebody's sight":    {`{"crashes":5,"last_error":"child killed by SIGSEGV"}`, false},
		"failed":                         {`{"retry":5,"last_error":"lease expired?"}`, false},
		"more crashes than are possible": {`{"crashes":9,"last_error":"lease expired: x"}`, true},
	}
	for name, tt := range tests {
		if got := testRules(t, nil).lastChance(testHeld(t, tt.text).job); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
