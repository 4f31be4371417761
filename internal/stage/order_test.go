package stage_test

import (
	"slices"
	"testing"
	"time"

	"sidecar/internal/stage"
)

func TestJobsStandInTheOrderInWhichTheyRun(t *testing.T) {
	at := func(n int) time.Time { return time.Date(2026, 11, 30, 12, n, 0, 0, time.UTC) }
	type job struct {
		name string
		turn stage.Turn
	}
	jobs := []job{
		{"dead long ago", stage.Turn{Topic: "b", Place: "dead", Died: at(1)}},
		{"dead, nobody knows when", stage.Turn{Topic: "b", Place: "dead"}},
		{"dead just now", stage.Turn{Topic: "b", Place: "dead", Died: at(9)}},
		{"running for long", stage.Turn{Topic: "b", Place: "running", Lease: at(9)}},
		{"running for a while", stage.Turn{Topic: "b", Place: "running", Lease: at(2)}},
		{"third in ready", stage.Turn{Topic: "b", Place: "ready", Ahead: 2}},
		{"next in ready", stage.Turn{Topic: "b", Place: "ready"}},
		{"never", stage.Turn{Topic: "b", Place: "pool", Never: true}},
		{"later", stage.Turn{Topic: "b", Place: "pool", Due: at(9)}},
		{"soon", stage.Turn{Topic: "b", Place: "pool", Due: at(3)}},
		{"always due", stage.Turn{Topic: "b", Place: "pool"}},
		{"of another topic", stage.Turn{Topic: "a", Place: "pool", Due: at(1)}},
	}
	stage.InOrder(jobs, func(j job) stage.Turn { return j.turn })
	var got []string
	for _, j := range jobs {
		got = append(got, j.name)
	}
	if want := []string{
		"always due", "soon", "later", "never", "next in ready", "third in ready", "running for a while", "running for long",
		"dead just now", "dead long ago", "dead, nobody knows when", "of another topic",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestWorkersAreAllBusyWhereEachHasAJobAndOthersWait(t *testing.T) {
	for _, test := range []struct {
		workers          int
		running, waiting int64
		want             bool
	}{{2, 2, 1, true}, {2, 3, 1, true}, {2, 1, 1, false}, {2, 2, 0, false}, {0, 0, 1, false}} {
		if got := stage.AllBusy(test.workers, test.running, test.waiting); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}
