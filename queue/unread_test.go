package queue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sidecar/queue"
)

// namesOf are the sidecars that beats name, "?" behind those whose heartbeats cannot be read.
func namesOf(beats []queue.Heartbeat) (names string) {
	for _, b := range beats {
		names += b.Instance
		if b.Unread {
			names += "?"
		}
		names += " "
	}
	return names
}

// In a rolling upgrade old and new sidecars read each other: what one does not understand it leaves there.
func TestHeartbeatsThatCannotBeReadAreKeptForADay(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	hearts := queue.NewHeartbeats(b.rdb, "")
	const key = "sidecar:alive"
	own, err := hearts.Beat(t.Context(), queue.Heartbeat{Instance: "own", Host: "own"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(ago time.Duration) string { return own.At.Add(-ago).Format(time.RFC3339) }
	look := func(want string, fields int64) []queue.Heartbeat {
		t.Helper()
		all, err := hearts.All(t.Context())
		if err != nil || namesOf(all) != want {
			t.Errorf("got %q, %v; want %q", namesOf(all), err, want)
		}
		if n := b.do(t, "HLEN", key); n != fields {
			t.Errorf("%v fields, want %d", n, fields)
		}
		return all
	}
	b.do(t, "HSET", key,
		"typed", fmt.Sprintf(`{"host":"a","pid":7,"version":"v9","topics":{"mail":1},"in_hand":3,"at":%q}`, at(time.Minute)),
		"left", fmt.Sprintf(`{"host":"b","topics":7,"stopped":true,"at":%q}`, at(time.Minute)),
		"typed-old", fmt.Sprintf(`{"topics":7,"at":%q}`, at(25*time.Hour)),
		"packed", "\x1f\x8b\x08", "timeless", `{"host":"z"}`, "ahead", fmt.Sprintf(`{"host":"x","topics":["mail"],"at":%q}`, at(-25*time.Hour)))
	const kept = "typed? left? own packed? ahead? timeless? "
	all := look(kept, 6+3) // each that does not tell its time has a mark
	typed, left, packed, ahead := all[0], all[1], all[3], all[4]
	if typed.Host != "a" || typed.PID != 7 || typed.Version != "v9" || typed.InHand != 0 || !typed.Lost(own.At) || !typed.Has("sms") {
		t.Errorf("typed is %+v", typed)
	}
	if !left.Stopped || packed.Host != "packed" || !packed.Lives(own.At) || ahead.Topics != nil || ahead.At.Sub(own.At) > time.Minute {
		t.Errorf("left is %+v, packed %+v, ahead %+v", left, packed, ahead)
	}

	// An hour later nothing has come from it, and then something has.
	age := func(instance string, by time.Duration) {
		t.Helper()
		var mark map[string]any
		if err := json.Unmarshal([]byte(b.rdb.HGet(t.Context(), key, "unread:"+instance).Val()), &mark); err != nil {
			t.Fatal(err)
		}
		mark["at"] = at(by)
		text, err := json.Marshal(mark)
		if err != nil {
			t.Fatal(err)
		}
		b.do(t, "HSET", key, "unread:"+instance, string(text))
	}
	age("packed", time.Hour)
	if packed = look(kept, 9)[3]; own.At.Sub(packed.At).Round(time.Minute) != time.Hour || !packed.Lost(own.At) {
		t.Errorf("an hour later packed is %+v", packed)
	}
	b.do(t, "HSET", key, "packed", "\x1f\x8b\x09")
	if packed = look(kept, 9)[3]; packed.Lost(own.At) {
		t.Errorf("heard of again it is %+v", packed)
	}

	// A day later it goes, mark and all; so does the mark of one that can be read again, or is gone.
	age("packed", 25*time.Hour)
	b.do(t, "HDEL", key, "ahead")
	b.do(t, "HSET", key, "timeless", fmt.Sprintf(`{"host":"z","at":%q}`, at(0)))
	look("typed? left? own timeless ", 4)
}

// Marks beside the texts must not bring the hash over the bound up to which it is read.
func TestVeryManyHeartbeatsThatCannotBeReadStayReadable(t *testing.T) {
	b := newBench(t, nil)
	hearts := queue.NewHeartbeats(b.rdb, "")
	for i := range 900 {
		b.do(t, "HSET", "sidecar:alive", fmt.Sprint("g", i), "garbage")
	}
	for look := range 3 {
		if all, err := hearts.All(t.Context()); err != nil || len(all) != 900 {
			t.Fatalf("look %d: %d, %v", look, len(all), err)
		}
	}
}
