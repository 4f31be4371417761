package stage_test

import (
	"testing"
	"time"

	"sidecar/internal/stage"
)

func TestAJobsStageIsToldByItsPlaceAndTimes(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	micro := time.UnixMicro(now.UnixMicro() * 1000) //nolint:forbidigo // a due time that its producer wrote in microseconds
	tests := map[string]struct {
		job    stage.Job
		want   stage.Stage
		length time.Duration
	}{
		"a score that is no time":      {stage.Job{Place: "pool", Never: true}, stage.Never, 0},
		"a score of 0":                 {stage.Job{Place: "pool"}, stage.Due, 0},
		"due just now":                 {stage.Job{Place: "pool", Due: now}, stage.Due, 0},
		"due for long":                 {stage.Job{Place: "pool", Due: in(-time.Hour), Tried: true}, stage.Due, time.Hour},
		"not due":                      {stage.Job{Place: "pool", Due: in(time.Hour)}, stage.NotDue, time.Hour},
		"a retry":                      {stage.Job{Place: "pool", Due: in(time.Hour), Tried: true}, stage.Retry, time.Hour},
		"after all lives":              {stage.Job{Place: "pool", Due: in(101 * 365 * 24 * time.Hour)}, stage.Beyond, 101 * 365 * 24 * time.Hour},
		"more than a Duration can say": {stage.Job{Place: "pool", Due: micro}, stage.Beyond, 1<<63 - 1},
		"ready":                        {stage.Job{Place: "ready", Tried: true}, stage.Ready, 0},
		"runs":                         {stage.Job{Place: "running", Lease: in(time.Second)}, stage.Runs, time.Second},
		"under no lease to tell":       {stage.Job{Place: "running"}, stage.Runs, 0},
		"its lease ends now":           {stage.Job{Place: "running", Lease: now}, stage.Lost, 0},
		"its lease is over":            {stage.Job{Place: "running", Lease: in(-time.Minute)}, stage.Lost, time.Minute},
		"dead":                         {stage.Job{Place: "dead", Tried: true}, stage.Dead, 0},
	}
	for name, tt := range tests {
		if got, length := stage.Of(tt.job, now); got != tt.want || length != tt.length {
			t.Errorf("%s: got %d, %s, want %d, %s", name, got, length, tt.want, tt.length)
		}
	}
}

func TestWithoutATimeNothingIsDueOrLost(t *testing.T) {
	past := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		job  stage.Job
		want stage.Stage
	}{
		"in the pool":           {stage.Job{Place: "pool", Due: past}, stage.NotDue},
		"for a retry":           {stage.Job{Place: "pool", Due: past, Tried: true}, stage.Retry},
		"with a score of 0":     {stage.Job{Place: "pool"}, stage.Due},
		"with one of no time":   {stage.Job{Place: "pool", Never: true}, stage.Never},
		"running under a lease": {stage.Job{Place: "running", Lease: past}, stage.Runs},
	} {
		if got, length := stage.Of(tt.job, time.Time{}); got != tt.want || length != 0 {
			t.Errorf("%s: got %d, %s, want %d", name, got, length, tt.want)
		}
	}
}
