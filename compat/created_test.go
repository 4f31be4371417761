package compat_test

import (
	"testing"

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
