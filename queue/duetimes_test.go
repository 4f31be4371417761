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

func TestOnlyTheLastDueTimesAreKept(t *testing.T) {
	d := newDueTimes()
	for i := range 3 * dueTimesKept {
		d.add([]Due{{strconv.Itoa(i), ServerTime(i + 10)}})
	}
	if len(d.at) != dueTimesKept || len(d.order) != dueTimesKept {
		t.Errorf("got %d times and %d places, want %d", len(d.at), len(d.order), dueTimesKept)
	}
	if got := d.take("0"); got != 0 {
		t.Errorf("the oldest is still there: %d", got)
	}
	last := 3*dueTimesKept - 1
	if got, want := d.take(strconv.Itoa(last)), ServerTime(last+10); got != want {
		t.Errorf("the newest: got %d, want %d", got, want)
	}
}

func TestAScoreThatIsNoTimeMakesNobodyLate(t *testing.T) {
	d := newDueTimes()
	d.add([]Due{{"a", always}})
	if got := d.take("a"); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}
