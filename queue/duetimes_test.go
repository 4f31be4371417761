package queue

import (
	"strconv"
	"testing"
)

func TestADueTimeIsCarriedOnce(t *testing.T) {
	d := newDueTimes()
	d.add([]Due{{"a", 10}, {"b", 20}})
	for text, want := range map[string]ServerTime{"a": 10, "b": 20, "c": 0} {
		if got := d.take(text); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	if got := d.take("a"); got != 0 {
		t.Errorf("a again: got %d, want 0", got)
	}
}

func TestDueTimesAreRememberedEvenlyFromAllOfReady(t *testing.T) {
	const ready = 60_000
	d := newDueTimes()
	for i := range ready {
		d.add([]Due{{strconv.Itoa(i), ServerTime(i + 10)}})
	}
	if len(d.at) > dueTimesKept || len(d.order) > dueTimesKept {
		t.Errorf("%d times and %d places are kept, want at most %d", len(d.at), len(d.order), dueTimesKept)
	}
	gap, widest := 0, 0
	for i := range ready {
		switch got := d.take(strconv.Itoa(i)); {
		case got.IsZero():
			gap++
		case got == ServerTime(i+10):
			widest, gap = max(widest, gap), 0
		default:
			t.Fatalf("%d: got %d", i, got)
		}
	}
	if widest = max(widest, gap); widest > 64 {
		t.Errorf("of %d texts in a row none is known, want every %dth or so", widest, ready/dueTimesKept)
	}
}

func TestWhereReadyIsShortEveryDueTimeIsKnown(t *testing.T) {
	d := newDueTimes()
	for i := range 20 * dueTimesKept { // more at first than are remembered, of which others claim half
		d.add([]Due{{strconv.Itoa(i), ServerTime(i + 10)}})
		if i > 2*dueTimesKept && i%3 == 0 {
			d.take(strconv.Itoa(i))
		}
	}
	for i := range 100 {
		text := "young" + strconv.Itoa(i)
		d.add([]Due{{text, ServerTime(i + 10)}})
		if got := d.take(text); got != ServerTime(i+10) {
			t.Fatalf("%s: got %d", text, got)
		}
	}
}

func TestWhatOthersHaveClaimedIsForgottenWhenReadyIsEmpty(t *testing.T) {
	d := newDueTimes()
	for i := range 100 * dueTimesKept {
		d.add([]Due{{strconv.Itoa(i), ServerTime(i + 10)}})
	}
	d.passAll()
	for i := range dueTimesKept / 2 {
		d.add([]Due{{"young" + strconv.Itoa(i), ServerTime(i + 10)}})
	}
	for i := range dueTimesKept / 2 {
		if got := d.take("young" + strconv.Itoa(i)); got != ServerTime(i+10) {
			t.Fatalf("%d: got %d", i, got)
		}
	}
}

func TestAScoreThatIsNoTimeMakesNobodyLate(t *testing.T) {
	d := newDueTimes()
	d.add([]Due{{"a", always}})
	if got := d.take("a"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}
