package compat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
)

func TestARecordIsReadInAnyLayout(t *testing.T) {
	want := compat.DeadRecord{Job: `{"uuid":"a1", "n":1.0}`, Error: "e/1", Trace: "#0", At: "2024-05-01 12:34:56"}
	for name, text := range map[string]string{
		"ours":          `{"job":{"uuid":"a1", "n":1.0},"error":"e\/1","trace":"#0","at":"2024-05-01 12:34:56"}`,
		"spaces":        "\n{ \"job\" : {\"uuid\":\"a1\", \"n\":1.0} , \"error\" : \"e/1\", \"trace\":\"#0\" ,\"at\":\"2024-05-01 12:34:56\" }\n",
		"one space":     `{"job": {"uuid":"a1", "n":1.0}, "error": "e/1", "trace": "#0", "at": "2024-05-01 12:34:56"}`,
		"another order": `{"at":"2024-05-01 12:34:56","trace":"#0","error":"e/1","job":{"uuid":"a1", "n":1.0}}`,
		"more members":  `{"v":[1,{"job":2}],"job":{"uuid":"a1", "n":1.0},"host":"w1","error":"e/1","trace":"#0","at":"2024-05-01 12:34:56"}`,
		"duplicates":    `{"job":{},"error":"no","job":{"uuid":"a1", "n":1.0},"error":"e/1","trace":"#0","at":"2024-05-01 12:34:56"}`,
		"escaped names": `{"\u006aob":{"uuid":"a1", "n":1.0},"error":"e\u002f1","trace":"#0","at":"2024-05-01 12:34:56"}`,
	} {
		if got, err := compat.ParseDeadRecord(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestARecordMayLackAllButTheJob(t *testing.T) {
	got, err := compat.ParseDeadRecord(`{"job":{"uuid":"a1"},"error":null,"at":7}`)
	if want := (compat.DeadRecord{Job: `{"uuid":"a1"}`}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestATextWithoutAJobIsNoRecord(t *testing.T) {
	for text, reason := range map[string]string{
		"":                              "it ends at byte 0",
		`{}`:                            "no object in its job",
		`{"error":"x"}`:                 "no object in its job",
		`{"job":null}`:                  "no object in its job",
		`{"job":"{}"}`:                  "no object in its job",
		`{"job":[{"uuid":"a1"}]}`:       "no object in its job",
		`{"job":{"uuid":"a1"}`:          "it ends at byte 20",
		`[{"job":{}}]`:                  "looks like a JSON array",
		`a:1:{s:3:"job";s:1:"z";}`:      "looks like a PHP-serialized value",
		`{"job":{"uuid":"a1"},"x":nul}`: "want null",
	} {
		got, err := compat.ParseDeadRecord(text)
		if !errors.Is(err, compat.ErrNotRecord) || !strings.Contains(err.Error(), reason) || got != (compat.DeadRecord{}) {
			t.Errorf("%q: got %+v, %v, want an ErrNotRecord that says %q", text, got, err, reason)
		}
	}
}

func TestSpaceAroundAJobSurvivesItsRecord(t *testing.T) {
	for _, job := range []string{"{\"uuid\":\"a1\"}\n", " \t{\"uuid\":\"a1\"}", "\r\n{ }\n\n"} {
		record := compat.DeadRecord{Job: job, Error: "x"}
		if got, err := compat.ParseDeadRecord(record.Text()); err != nil || got != record {
			t.Errorf("%q: got %q, %v", job, got.Job, err)
		}
	}
}

func TestAJobGoesIntoARecordAsItIsWhereverPHPCanReadIt(t *testing.T) {
	deepest := `{"d":` + nested(509) + `}` // 510 levels, 511 in the record
	tests := map[string]struct {
		job   string
		whole bool
	}{
		"object":              {`{"uuid":"a1","o":{}}`, true},
		"empty object":        {`{}`, true},
		"as deep as PHP goes": {deepest, true},
		"one deeper":          {`{"d":` + nested(510) + `}`, false},
		"no UTF-8":            {"{\"a\":\"\xE9\"}", false},
		"half a pair":         {`{"a":"\ud83d"}`, false},
		"list":                {`[1]`, false},
		"empty":               {``, false},
		"serialized":          {`a:0:{}`, false},
	}
	for name, tt := range tests {
		text := compat.DeadRecord{Job: tt.job}.Text()
		if got := strings.HasPrefix(text, `{"job":`+tt.job+`,"error"`); got != tt.whole {
			t.Errorf("%s: record is %.60s", name, text)
		}
		if parse(t, text).PHPError() != nil {
			t.Errorf("%s: PHP cannot read the record", name)
		}
	}
	wantText(t, "wrapper", compat.DeadRecord{Job: "\xFB\xFF", Error: "e", Trace: "t", At: "a"}.Text(),
		`{"job":{"sidecar_raw":"+\/8="},"error":"e","trace":"t","at":"a"}`)
}

func TestAWrapperIsNotWrappedTwice(t *testing.T) {
	first := compat.DeadRecord{Job: "42", Error: "not a JSON object"}.Text()
	for _, met := range []string{`{"sidecar_raw":"NDI="}`, `{"sidecar_raw":"NDI=","retry":0,"replayed_at":"2024-05-02 00:00:01"}`} {
		wantText(t, "buried again", compat.DeadRecord{Job: met, Error: "not a JSON object"}.Text(), first)
	}
}

func TestAReplayResetsTheCountsAndNothingElse(t *testing.T) {
	const at = "2024-05-02 00:00:01"
	tests := map[string]struct{ job, want string }{
		"counts there":      {`{"uuid":"a1","retry":6,"crashes":2,"x":{}}`, `{"uuid":"a1","retry":0,"crashes":0,"x":{},"replayed_at":"2024-05-02 00:00:01"}`},
		"no crashes":        {`{"retry":6}`, `{"retry":0,"replayed_at":"2024-05-02 00:00:01"}`},
		"no retry":          {`{"uuid":"a1"}`, `{"uuid":"a1","retry":0,"replayed_at":"2024-05-02 00:00:01"}`},
		"replayed before":   {`{"replayed_at":"x","retry":6}`, `{"replayed_at":"2024-05-02 00:00:01","retry":0}`},
		"last_error stays":  {`{"last_error":"x","retry":6}`, `{"last_error":"x","retry":0,"replayed_at":"2024-05-02 00:00:01"}`},
		"PHP refuses it":    {"{\"a\":\"\xE9\",\"retry\":6}", "{\"a\":\"\xE9\",\"retry\":0,\"replayed_at\":\"2024-05-02 00:00:01\"}"},
		"no job":            {"42", "42"},
		"nothing":           {"", ""},
		"a wrapper, nested": {`{"sidecar_raw":"NDI="}`, `{"sidecar_raw":"NDI="}`},
	}
	for name, tt := range tests {
		wantText(t, name, compat.DeadRecord{Job: tt.job}.ReplayText(at), tt.want)
	}
}

func TestTheTraceIsCutTheErrorIsNot(t *testing.T) {
	long := strings.Repeat("订", 3000)
	got, err := compat.ParseDeadRecord(compat.DeadRecord{Job: `{}`, Error: long, Trace: long}.Text())
	if err != nil || got.Error != long || got.Trace != strings.Repeat("订", 2000) {
		t.Errorf("error of %d bytes, trace of %d, %v", len(got.Error), len(got.Trace), err)
	}
}

func TestAtIsInTheZoneAskedFor(t *testing.T) {
	at := time.Date(2024, 5, 1, 23, 0, 0, 999, time.UTC)
	wantText(t, "at", compat.FormatAt(at, time.FixedZone("CST", 8*3600)), "2024-05-02 07:00:00")
}
