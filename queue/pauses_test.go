package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestAPauseIsThereForAllUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	mine, other := queue.NewPauses(b.rdb, "shop:"), queue.NewPauses(b.rdb, "shop:")
	set, err := mine.Set(t.Context(), "mail", 0, "cli ann@host", "the supplier is down\n2nd line")
	if err != nil || !set.Until.IsZero() || set.Reason != "the supplier is down 2nd line" {
		t.Fatalf("%+v, %v", set, err)
	}
	all, now, err := other.All(t.Context())
	if err != nil || all["mail"] != set || len(all) != 1 || now.Sub(set.At).Abs() > tolerance {
		t.Errorf("another sidecar sees %+v at %v, %v; want %+v", all, now, err, set)
	}
	if keys := b.do(t, "KEYS", "*"); !slices.Equal(keys.([]any), []any{"shop:sidecar:paused"}) {
		t.Errorf("it lies in %v", keys)
	}
	was, found, err := other.Clear(t.Context(), "mail")
	if err != nil || !found || was != set {
		t.Errorf("taken back: %+v, %t, %v; want %+v", was, found, err, set)
	}
	if _, found, err := mine.Clear(t.Context(), "mail"); err != nil || found {
		t.Errorf("taken back twice: %t, %v", found, err)
	}
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys are left", n)
	}
}

func TestAPauseWithAnEndIsOverThenAndCleanedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	pauses := queue.NewPauses(b.rdb, "")
	set, err := pauses.Set(t.Context(), "mail", 200*time.Millisecond, "web 127.0.0.1", "")
	if err != nil || set.Until.Sub(set.At) != 200*time.Millisecond {
		t.Fatalf("%+v, %v", set, err)
	}
	if all, _, err := pauses.All(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("at once: %v, %v", all, err)
	}
	testenv.Poll(t, patience, "the end of the pause", func() bool {
		all, _, err := pauses.All(t.Context())
		return err == nil && len(all) == 0
	})
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Error("the field is left behind")
	}
}

func TestAPauseThatIsOverIsNothingToTakeBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "HSET", "sidecar:paused", "mail", `{"at":"2020-01-01T00:00:00Z","until":"2020-01-02T00:00:00Z","by":"x"}`)
	if _, found, err := queue.NewPauses(b.rdb, "").Clear(t.Context(), "mail"); err != nil || found {
		t.Errorf("found %t, %v", found, err)
	}
}

func TestWhatSomebodyWroteByHandIsAPause(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "HSET", "sidecar:paused", "mail", "1", "sms", `{"by":"ops"}`, "push", "")
	pauses := queue.NewPauses(b.rdb, "")
	all, _, err := pauses.All(t.Context())
	if err != nil || all["mail"].By == "" || all["sms"].By != "ops" || all["push"].By == "" {
		t.Errorf("%+v, %v", all, err)
	}
	for topic := range all {
		if _, found, err := pauses.Clear(t.Context(), topic); err != nil || !found {
			t.Errorf("%s is taken back: %t, %v", topic, found, err)
		}
	}
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys are left", n)
	}
}

func TestTopicsArePausedAtMaxmemory(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, "maxmemory 50mb")
	pauses := queue.NewPauses(b.rdb, "")
	b.do(t, "CONFIG", "SET", "maxmemory", 1)
	if _, err := pauses.Set(t.Context(), "mail", 0, "cli ann@host", ""); err != nil {
		t.Error(err)
	}
	if _, found, err := pauses.Clear(t.Context(), "mail"); err != nil || !found {
		t.Errorf("taken back: %t, %v", found, err)
	}
}

func TestPausesRefuseLengthsThatNobodyMeans(t *testing.T) {
	t.Parallel()
	pauses := queue.NewPauses(newBench(t, nil).rdb, "")
	for _, lasts := range []time.Duration{-time.Second, 400 * 24 * time.Hour} {
		if _, err := pauses.Set(t.Context(), "mail", lasts, "", ""); !errors.Is(err, queue.ErrPauseLength) {
			t.Errorf("%s: %v", lasts, err)
		}
	}
}

func TestAKeyThatHoldsSomethingElseIsNotReadWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "EVAL", `for i = 1, 2001 do redis.call('HSET', KEYS[1], i, '{}') end`, 1, "sidecar:paused")
	_, _, err := queue.NewPauses(b.rdb, "").All(t.Context())
	if err == nil || !strings.Contains(err.Error(), "sidecar:paused has 2001 fields, want at most 2000") {
		t.Errorf("%v", err)
	}
}

func TestAKeyOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "SET", "sidecar:paused", "mail")
	_, _, err := queue.NewPauses(b.rdb, "").All(t.Context())
	if queue.FaultOf(err) != queue.WrongType || !strings.Contains(err.Error(), "sidecar:paused is a string, want a hash") {
		t.Errorf("%v", err)
	}
}
