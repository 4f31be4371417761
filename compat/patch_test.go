package compat_test

import (
	"strings"
	"testing"

	"sidecar/compat"
)

func TestAPatchReplacesInPlaceOrAppendsLast(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"in place":                 {`{"retry":1,"b":2}`, `{"retry":12,"b":2}`},
		"in place, longer before":  {`{"retry":"a long text","b":2}`, `{"retry":12,"b":2}`},
		"appended":                 {`{"b":2}`, `{"b":2,"retry":12}`},
		"appended to nothing":      {`{}`, `{"retry":12}`},
		"appended within spaces":   {"{ \"b\" : 2 }\n", "{ \"b\" : 2,\"retry\":12 }\n"},
		"appended to spaces":       {" { } ", ` {"retry":12 } `},
		"appended over lines":      {"{\n  \"b\": [\n  1\n  ]\n}", "{\n  \"b\": [\n  1\n  ],\"retry\":12\n}"},
		"in place within spaces":   {`{ "retry" :  null , "b":2}`, `{ "retry" :  12 , "b":2}`},
		"the last of duplicates":   {`{"retry":1,"b":2,"retry":3,"c":4}`, `{"retry":1,"b":2,"retry":12,"c":4}`},
		"an escaped name":          {`{"\u0072etr\u0079":1,"b":2}`, `{"\u0072etr\u0079":12,"b":2}`},
		"a container":              {`{"retry":{"retry":[1,{}]},"b":2}`, `{"retry":12,"b":2}`},
		"not further in":           {`{"b":{"retry":1},"c":[{"retry":2}]}`, `{"b":{"retry":1},"c":[{"retry":2}],"retry":12}`},
		"not in a string":          {`{"b":"\",\"retry\":1"}`, `{"b":"\",\"retry\":1","retry":12}`},
		"not a longer name":        {`{"retry_count":1}`, `{"retry_count":1,"retry":12}`},
		"beside bytes no UTF-8":    {"{\"b\":\"\xE9\",\"retry\":1,\"c\":\"\xE9\"}", "{\"b\":\"\xE9\",\"retry\":12,\"c\":\"\xE9\"}"},
		"appended after duplicate": {`{"b":1,"b":2}`, `{"b":1,"b":2,"retry":12}`},
	}
	for name, tt := range tests {
		patched := parse(t, tt.text).WithTries(12)
		wantText(t, name, patched.Raw(), tt.want)
		if patched.Tries() != 12 {
			t.Errorf("%s: reads back as %d", name, patched.Tries())
		}
		if patched != parse(t, tt.want) {
			t.Errorf("%s: the patched job differs from its text parsed anew", name)
		}
	}
}

func TestPatchesFollowEachOther(t *testing.T) {
	job := parse(t, `{"last_error":"","uuid":"a1","crashes":0}`)
	job = job.WithTries(1).WithLastError("x/y").WithCrashes(123).WithReplayedAt("2024-05-02 00:00:01").WithLastError("").WithTries(0)
	wantText(t, "patched", job.Raw(), `{"last_error":"","uuid":"a1","crashes":123,"retry":0,"replayed_at":"2024-05-02 00:00:01"}`)
	if job.UUID() != "a1" || job.Crashes() != 123 || job.Tries() != 0 || job.LastError() != "" {
		t.Errorf("reads as %q, %d, %d, %q", job.UUID(), job.Crashes(), job.Tries(), job.LastError())
	}
}

func TestAJobWithoutUUIDCanBeGivenOne(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                     `{"uuid":"a/1"}`,
		`{"order_id":42}`:        `{"order_id":42,"uuid":"a/1"}`,
		`{"uuid":"","order":42}`: `{"uuid":"a/1","order":42}`,
	} {
		job := parse(t, text).WithUUID("a/1")
		wantText(t, text, job.Raw(), strings.ReplaceAll(want, "/", `\/`))
		if job.UUID() != "a/1" {
			t.Errorf("%s: reads back as %q", text, job.UUID())
		}
	}
}

func TestAPatchLeavesTheJobItCameFrom(t *testing.T) {
	const text = `{"uuid":"a1","retry":0}`
	job := parse(t, text)
	job.WithTries(7).WithLastError("x")
	wantText(t, "raw", job.Raw(), text)
	if job.Tries() != 0 {
		t.Errorf("%d tries", job.Tries())
	}
}

func TestLastErrorIsCutAtCharacters(t *testing.T) {
	job := parse(t, `{}`).WithLastError(strings.Repeat("订", 501))
	wantText(t, "last error", job.LastError(), strings.Repeat("订", 500))
}

func TestAPatchMayTakeAwayWhatPHPRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no UTF-8":  "{\"last_error\":\"\xE9\"}",
		"surrogate": `{"last_error":"\ud83d"}`,
		"depth":     `{"last_error":` + nested(511) + `}`,
	} {
		job := parse(t, text)
		if job.PHPError() == nil || job.WithTries(1).PHPError() == nil {
			t.Errorf("%s: PHP would take it", name)
		}
		if err := job.WithLastError("x").PHPError(); err != nil {
			t.Errorf("%s: still refused after its value was replaced: %v", name, err)
		}
	}
	// Here nothing is refused, but the place in a record is at stake.
	job := parse(t, `{"last_error":`+nested(510)+`}`).WithLastError("x")
	wantText(t, "record", compat.DeadRecord{Job: job.Raw()}.Text(), `{"job":{"last_error":"x"},"error":"","trace":"","at":""}`)
}
