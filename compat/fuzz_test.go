package compat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"sidecar/compat"
)

func FuzzParseJob(f *testing.F) {
	seedTexts(f, func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		job, err := compat.ParseJob(text)
		if err != nil && job != (compat.Job{}) {
			t.Fatalf("an error and a job: %v, %q", err, job.Raw())
		}
		if err == nil && job.Raw() != text {
			t.Fatalf("raw is %q", job.Raw())
		}
		if brackets(text) > 9000 {
			return
		}
		object := json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
		if taken := err == nil || errors.Is(err, compat.ErrWrapped); taken != object {
			t.Fatalf("encoding/json says object: %t, we say %v", object, err)
		}
		if err == nil && utf8.ValidString(text) {
			wantText(t, "uuid", job.UUID(), referenceUUID(t, text))
		}
	})
}

// referenceUUID reads the uuid of an object with encoding/json.
func referenceUUID(t *testing.T, text string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	raw := string(members["uuid"])
	if strings.HasPrefix(raw, `"`) {
		var s string
		if err := json.Unmarshal(members["uuid"], &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if strings.Trim(raw, "-+0123456789.eE") == "" {
		return raw // a number
	}
	return ""
}

func FuzzPatch(f *testing.F) {
	seedTexts(f, func(text string) { f.Add(text, 3, "拒绝 /x") })
	f.Fuzz(func(t *testing.T, text string, n int, s string) {
		job, err := compat.ParseJob(text)
		if err != nil {
			t.Skip()
		}
		for _, p := range patches(n, s) {
			patched := p.patch(job)
			if utf8.ValidString(text) && brackets(text) < 9000 {
				wantText(t, p.name, patched.Raw(), referencePatch(t, text, p.name, p.value))
			}
			if !p.readsBack(patched) {
				t.Errorf("%s does not read back from %q", p.name, patched.Raw())
			}
			if again := p.patch(patched); again != patched {
				t.Errorf("%s: patching twice gives %q, once %q", p.name, again.Raw(), patched.Raw())
			}
			if parsed := parse(t, patched.Raw()); parsed != patched {
				t.Errorf("%s: places are off in %q", p.name, patched.Raw())
			}
			job, text = patched, patched.Raw() // the next patch meets a text that has been patched
		}
	})
}

// patch is one With… method, what it writes and how that reads back.
type patch struct {
	name, value string
	patch       func(compat.Job) compat.Job
	readsBack   func(compat.Job) bool
}

// patches returns all of them, with n for the counts and s for the strings.
func patches(n int, s string) []patch {
	kept := compat.Cut(s, compat.LastErrorLength)
	count := min(n, math.MaxInt-1) // one more always fits
	return []patch{
		{
			"retry", strconv.Itoa(n),
			func(j compat.Job) compat.Job { return j.WithTries(n) },
			func(j compat.Job) bool { return j.Tries() == count },
		},
		{
			"crashes", strconv.Itoa(n),
			func(j compat.Job) compat.Job { return j.WithCrashes(n) },
			func(j compat.Job) bool { return j.Crashes() == count },
		},
		{
			"last_error", phpString(kept),
			func(j compat.Job) compat.Job { return j.WithLastError(s) },
			func(j compat.Job) bool { return j.LastError() == kept },
		},
		{
			"replayed_at", phpString(s),
			func(j compat.Job) compat.Job { return j.WithReplayedAt(s) },
			func(compat.Job) bool { return true }, // nobody reads it
		},
	}
}

// brackets bounds the depth of text: encoding/json, which we compare with, goes down to 10,000.
func brackets(text string) int { return strings.Count(text, "[") + strings.Count(text, "{") }

// referencePatch sets name to value in text, with the places taken from encoding/json's decoder.
func referencePatch(t *testing.T, text, name, value string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	token := func() json.Token {
		tok, err := dec.Token()
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return tok
	}
	token() // the brace
	start, end, tail, comma := -1, -1, dec.InputOffset(), ""
	for dec.More() {
		key := token()
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		tail, comma = dec.InputOffset(), ","
		if key == name {
			start, end = int(tail)-len(raw), int(tail)
		}
	}
	if start < 0 {
		return text[:tail] + comma + `"` + name + `":` + value + text[tail:]
	}
	return text[:start] + value + text[end:]
}

func FuzzPHPString(f *testing.F) {
	for _, v := range vectors(f, "strings") {
		f.Add(v["string"])
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := compat.AppendPHPString([]byte("before"), s)
		quoted, ok := bytes.CutPrefix(out, []byte("before"))
		if !ok {
			t.Fatalf("dst has become %q", out)
		}
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if read, err := compat.ParsePHPString(string(quoted)); read != back || err != nil {
			t.Fatalf("%q is read as %q, %v", quoted, read, err)
		}
		if want := compat.Cut(s, len(s)); back != want || utf8.ValidString(s) && back != s {
			t.Fatalf("%q comes back as %q", s, back)
		}
		if bytes.Count(quoted, []byte("/")) != bytes.Count(quoted, []byte(`\/`)) || bytes.ContainsAny(quoted, "\u2028\u2029") {
			t.Fatalf("not escaped: %s", quoted)
		}
	})
}

func FuzzDeadRecord(f *testing.F) {
	seedTexts(f, func(text string) { f.Add(text, "拒绝 /x", "#0 {main}", "2024-05-01 12:34:56") })
	f.Add(`{"sidecar_raw":"eyJzaWRlY2FyX3JhdyI6ImFBPT0ifQ==","retry":0}`, "", "", "")
	f.Fuzz(func(t *testing.T, text, reason, trace, at string) {
		record := compat.DeadRecord{Job: text, Error: reason, Trace: trace, At: at}
		written := record.Text()
		if parsed := parse(t, written); parsed.PHPError() != nil {
			t.Fatalf("PHP cannot read %q: %v", written, parsed.PHPError())
		}
		back, err := compat.ParseDeadRecord(written)
		if err != nil {
			t.Fatal(err)
		}
		want := compat.DeadRecord{
			Job:   unwrapped(text),
			Error: compat.Cut(reason, len(reason)),
			Trace: compat.Cut(trace, compat.TraceLength),
			At:    compat.Cut(at, len(at)),
		}
		if back != want {
			t.Fatalf("%q\nreads as %q\nwant     %q", written, back, want)
		}
		replayed := back.ReplayText("now")
		job, err := compat.ParseJob(replayed)
		if err != nil && replayed != back.Job || err == nil && (job.Tries() != 0 || job.Crashes() != 0) {
			t.Fatalf("%q is replayed as %q", back.Job, replayed)
		}
		foreign, err := compat.ParseDeadRecord(text)
		if err != nil && (foreign != compat.DeadRecord{} || !errors.Is(err, compat.ErrNotRecord)) {
			t.Fatalf("%q reads as %q, %v", text, foreign, err)
		}
	})
}

// unwrapped returns what a sidecar_raw wrapper holds, any other text as it is.
func unwrapped(text string) string {
	if !errors.Is(jobError(text), compat.ErrWrapped) {
		return text
	}
	var wrapper map[string]json.RawMessage
	var raw []byte
	if json.Unmarshal([]byte(text), &wrapper) != nil || json.Unmarshal(wrapper["sidecar_raw"], &raw) != nil {
		return text
	}
	return string(raw)
}

func jobError(text string) error {
	_, err := compat.ParseJob(text)
	return err
}

func phpString(s string) string { return string(compat.AppendPHPString(nil, s)) }

// seedTexts hands every text of the vectors to add.
func seedTexts(f *testing.F, add func(text string)) {
	for _, v := range vectors(f, "failures") {
		add(v["text"])
		add(v["dead"])
	}
	for _, v := range vectors(f, "texts") {
		add(v["text"])
	}
	for _, v := range vectors(f, "members") {
		add(v["member"])
	}
	for _, v := range vectors(f, "counts") {
		add(`{"uuid":7, "retry" : ` + v["value"] + ` ,"crashes":` + v["value"] + "}\n")
	}
	add(`{"sidecar_raw":"aGk=","retry":0,"replayed_at":"x"}`)
}
