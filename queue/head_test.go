package queue

import (
	"encoding/json"
	"testing"
	"time"
)

// at is Redis's time so many seconds after some moment.
func at(seconds float64) ServerTime { return 1_732_900_000_000_000 + ServerTime(seconds*1e6) }

func moment(seconds float64) time.Time { return at(seconds).In(time.UTC) }

func TestTheHeadOfReadyIsAsOldAsWhatWasClaimedLast(t *testing.T) {
	head := func(seconds, seen float64) Head { return Head{Due: moment(seconds), Seen: moment(seen)} }
	claims := func(seconds float64, more bool) Claims { return Claims{Now: at(seconds), More: more} }
	due := func(seconds ...float64) (list []*held) {
		for _, s := range seconds {
			h := &held{}
			if s != 0 {
				h.due = at(s)
			}
			list = append(list, h)
		}
		return list
	}
	for name, tt := range map[string]struct {
		see  func(*readyHead)
		want Head
	}{
		"nothing but that there are jobs": {func(r *readyHead) { r.counted(Depths{Now: at(5), Ready: 3}) }, Head{Due: moment(5)}},
		"it was empty":                    {func(r *readyHead) { r.counted(Depths{Now: at(5)}) }, head(5, 5)},
		"a claim":                         {func(r *readyHead) { r.claimed(claims(9, true), due(2, 3)) }, head(3, 9)},
		"a claim of unknown jobs behind":  {func(r *readyHead) { r.claimed(claims(9, true), due(2, 0, 0)) }, head(2, 9)},
		"a claim of unknown jobs": {func(r *readyHead) {
			r.claimed(claims(9, true), due(2))
			r.claimed(claims(20, true), due(0))
		}, head(2, 9)},
		"a claim that left nothing": {func(r *readyHead) { r.claimed(claims(9, false), due(2)) }, head(9, 9)},
		"a failed claim": {func(r *readyHead) {
			r.claimed(claims(9, true), due(2))
			r.claimed(Claims{}, nil)
		}, head(2, 9)},
		"a job of before that it was empty": {func(r *readyHead) { // it was promoted late
			r.counted(Depths{Now: at(5)})
			r.claimed(claims(6, true), due(1))
		}, head(1, 6)},
		"a count that is read late": {func(r *readyHead) {
			r.claimed(claims(6, true), due(1))
			r.counted(Depths{Now: at(5)})
		}, head(1, 6)},
		"a clock that was set back": {func(r *readyHead) {
			r.claimed(claims(6000, true), due(5000))
			r.claimed(claims(9, true), due(2))
		}, head(2, 9)},
	} {
		r := newReadyHead()
		tt.see(r)
		if got, known := r.head(); !known || got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got, known := newReadyHead().head(); known {
		t.Errorf("without a word of Redis: %+v", got)
	}
}

func TestTheAgeOfReadysHeadIsThatOfWhoSawItLast(t *testing.T) {
	const now = 1000
	beat := func(ago float64, h Head) Heartbeat {
		return Heartbeat{At: moment(now - ago), Heads: map[string]Head{"mail": h}}
	}
	seen := func(due, seen float64) Head { return Head{Due: moment(due), Seen: moment(seen)} }
	gone := func(b Heartbeat) Heartbeat {
		b.Stopped = true
		return b
	}
	for name, tt := range map[string]struct {
		beats []Heartbeat
		want  time.Duration
	}{
		"nobody":                            {nil, 0},
		"of another version":                {[]Heartbeat{{At: moment(now)}}, 0},
		"it tells only that jobs are there": {[]Heartbeat{beat(0, Head{Due: moment(900)}), beat(0, Head{Due: moment(700)})}, 300 * time.Second},
		"as of its heartbeat":               {[]Heartbeat{beat(8, seen(900, 990))}, 92 * time.Second},
		"the one that claimed last":         {[]Heartbeat{beat(0, seen(995, 996)), beat(0, seen(900, 999)), beat(0, seen(990, 991))}, 100 * time.Second},
		"one that has just begun":           {[]Heartbeat{beat(0, seen(100, 999)), beat(0, Head{Due: moment(998)})}, 900 * time.Second},
		"a successor that has seen nothing": {[]Heartbeat{gone(beat(60, seen(100, 930))), beat(0, Head{Due: moment(990)})}, 900 * time.Second},
		"a successor that has":              {[]Heartbeat{gone(beat(60, seen(100, 930))), beat(0, seen(995, 996))}, 5 * time.Second},
		"none that lives":                   {[]Heartbeat{gone(beat(60, seen(100, 930))), beat(50, seen(100, 930))}, 0},
		"one of long ago":                   {[]Heartbeat{beat(3601, seen(-9000, -8000)), beat(0, Head{Due: moment(990)})}, 10 * time.Second},
	} {
		if got := ReadyAge(tt.beats, "mail", moment(now)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestOnlyWhereReadyHasJobsIsItsHeadLate(t *testing.T) {
	beats := []Heartbeat{{At: moment(100), Heads: map[string]Head{"mail": {Due: moment(40), Seen: moment(99)}}}}
	for name, tt := range map[string]struct{ d, want Depths }{
		"empty":     {Depths{Now: at(100)}, Depths{Now: at(100)}},
		"jobs":      {Depths{Now: at(100), Ready: 1}, Depths{Now: at(100), Ready: 1, OldestDueAge: time.Minute}},
		"and older": {Depths{Now: at(100), Ready: 1, OldestDueAge: time.Hour}, Depths{Now: at(100), Ready: 1, OldestDueAge: time.Hour}},
		"of a list": {Depths{Now: at(100), Ready: 1, Shards: []int64{1}}, Depths{Now: at(100), Ready: 1, Shards: []int64{1}}},
	} {
		if got := tt.d.WithHead(beats, "mail"); got.OldestDueAge != tt.want.OldestDueAge {
			t.Errorf("%s: %s, want %s", name, got.OldestDueAge, tt.want.OldestDueAge)
		}
	}
}

func TestTheNamesOfAHeadAreAPromise(t *testing.T) {
	text, err := json.Marshal(Heartbeat{Heads: map[string]Head{"mail": {Due: moment(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Heads map[string]map[string]string `json:"heads"`
	}
	if err := json.Unmarshal(text, &b); err != nil || len(b.Heads["mail"]) != 1 || b.Heads["mail"]["due"] != "2024-11-29T17:06:40Z" {
		t.Errorf("%s: %v", text, err)
	}
}
