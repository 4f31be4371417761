package queue_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestOfManyWhoChangeAnAlarmOneSucceeds(t *testing.T) {
	rdb := testenv.Redis(t).Client()
	a := queue.NewAlerts(rdb, "app_")
	ctx := t.Context()
	for round := range 20 {
		read := ""
		if round > 0 {
			read = fmt.Sprint(round - 1)
		}
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				done, err := a.Swap(ctx, queue.AlertAlarms, "backlog|orders", read, fmt.Sprint(round))
				if err != nil {
					t.Error(err)
				}
				if done {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d succeeded", round, won.Load())
		}
	}
	fields, err := a.Read(ctx, queue.AlertAlarms)
	if err != nil || len(fields) != 1 || fields["backlog|orders"] != "19" {
		t.Errorf("got %q, %v", fields, err)
	}
	if done, err := a.Swap(ctx, queue.AlertAlarms, "backlog|orders", "19", ""); !done || err != nil {
		t.Errorf("deleted %v, %v", done, err)
	}
	if n := rdb.Exists(ctx, "app_sidecar:alert:alarms").Val(); n != 0 {
		t.Error("the key outlives its last field")
	}
}

func TestTheHashesOfAlarmsAreBounded(t *testing.T) {
	rdb := testenv.Redis(t).Client()
	a := queue.NewAlerts(rdb, "")
	var full []any
	for i := range 1000 {
		full = append(full, fmt.Sprint(i), "x")
	}
	if err := rdb.HSet(t.Context(), string(queue.AlertSilences), full...).Err(); err != nil {
		t.Fatal(err)
	}
	if done, err := a.Swap(t.Context(), queue.AlertSilences, "one", "", "y"); done || !errors.Is(err, queue.ErrAlertsFull) {
		t.Errorf("a new field: %v, %v", done, err)
	}
	if done, err := a.Swap(t.Context(), queue.AlertSilences, "7", "x", "y"); !done || err != nil {
		t.Errorf("one that is there: %v, %v", done, err)
	}
}

func TestAnAlarmIsReadAsItsFieldSays(t *testing.T) {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	tests := map[string]struct {
		field, text string
		want        bool
	}{
		"an alarm":              {"r|a|b", `{"rule":"r","subject":"a|b","since":"` + at + `"}`, true},
		"of a redis":            {"r|", `{"rule":"r","since":"` + at + `"}`, true},
		"under another's name":  {"r|x", `{"rule":"r","subject":"a","since":"` + at + `"}`, false},
		"no JSON":               {"r|x", `x`, false},
		"without a beginning":   {"r|x", `{"rule":"r","subject":"x"}`, false},
		"a field without a bar": {"r", `{"rule":"r","since":"` + at + `"}`, false},
	}
	for name, tt := range tests {
		if _, ok := queue.AlarmOf(tt.field, tt.text); ok != tt.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

func TestRedisTellsItsTime(t *testing.T) {
	now, err := queue.NewAlerts(testenv.Redis(t).Client(), "").Now(t.Context())
	if err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("%v, %v", now, err)
	}
}
