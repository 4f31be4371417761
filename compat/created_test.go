package compat_test

import (
	"testing"
	"time"

	"sidecar/compat"
)

func TestCreatedAtIsANumberHoweverItIsWritten(t *testing.T) {
	for value, want := range map[string]string{
		"1732900000": "1732900000", `"1732900000"`: "1732900000", "1732900000.25": "1732900000.25", `" 17 "`: "17", "-1": "-1", "1e9": "1e9",
		`"2024-11-29 12:00:00"`: "2024", `"yesterday"`: "", "null": "", "true": "", "[1]": "", `{"created_at":1}`: "",
	} {
		job, err := compat.ParseListJob(`{"job_id":"a","payload":{"created_at":5},"created_at":` + value + `}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := job.CreatedAt(); got != want {
			t.Errorf("%s is %q, want %q", value, got, want)
		}
	}
	if job, err := compat.ParseListJob(`{"payload":{"created_at":5}}`); err != nil || job.CreatedAt() != "" {
		t.Errorf("an absent one is %q (%v)", job.CreatedAt(), err)
	}
}

func TestAJobSaysWhenItWasMade(t *testing.T) {
	for value, want := range map[string]time.Time{
		"1732900000":   time.Date(2024, 11, 29, 17, 6, 40, 0, time.UTC),
		`"1732900000"`: time.Date(2024, 11, 29, 17, 6, 40, 0, time.UTC),
		"1732900000.5": time.Date(2024, 11, 29, 17, 6, 40, 500_000_000, time.UTC),
		"17":           {}, "1732900000123": {}, "-1": {}, "null": {}, `"NaN"`: {},
	} {
		job, err := compat.ParseListJob(`{"created_at":` + value + `}`)
		if got := job.Created(); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s (%v), want %s", value, got, err, want)
		}
	}
}

func TestAReplayedJobSaysWhen(t *testing.T) {
	for text, want := range map[string]string{
		`{"uuid":"a","replayed_at":"2026-11-30 12:00:00"}`:             "2026-11-30 12:00:00",
		`{"replayed_at":"x","replayed_at":"2026-11-30 12:00:00"}`:      "2026-11-30 12:00:00",
		`{"payload":{"replayed_at":"2026-11-30 12:00:00"}}`:            "", // somebody else's
		`{"replayed_at":"yesterday"}`:                                  "",
		`{"replayed_at":1796040000}`:                                   "",
		`{"uuid":"a"}`:                                                 "",
		`{"replayed\u005fat":"2026-11-30 12:00:00","payload":{"a":1}}`: "2026-11-30 12:00:00",
	} {
		job, err := compat.ParseJob(text)
		if got := job.ReplayedAt(); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", text, got, err, want)
		}
	}
}
