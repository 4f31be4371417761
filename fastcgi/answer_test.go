package fastcgi

import (
	"encoding/json"
	"testing"
)

func TestAnswersAreReadTheShortWayOrTheLong(t *testing.T) {
	quick := []string{
		`{"v":"done","error":"","trace":"","delay_ms":0,"ms":0.012,"mem":2097152}`,
		`{"v":"done","ms":1.5e-3,"mem":0}`,
		`{"v":"done"}`,
	}
	long := []string{
		`{"v":"failed","error":"x","trace":"y","ms":3,"mem":5}`,
		`{"v":"done","ms":1,"mem":2,"out":"c3VjY2Vzcw==","out_size":7}`,
		`{"v":"done","error":"\u00e9"}`,
		`{"v":"done", "ms":1}`,
		`{"v":"done","ms":1,"new":{"a":[1]}}`,
	}
	for i, text := range append(quick, long...) {
		var want answer
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got, err := parseAnswer([]byte(text))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if _, ok := quickAnswer([]byte(text)); ok != (i < len(quick)) {
			t.Errorf("%s: the short way is taken: %v", text, ok)
		}
	}
	if out, size := (answer{Out: "c3VjY2Vzcw==", OutSize: 9}).output(); string(out) != "success" || size != 9 {
		t.Errorf("%q, %d", out, size)
	}
}

// FuzzAnswer: the short way never reads another answer than encoding/json, and takes no time to refuse one.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"v":"done","error":"","trace":"","delay_ms":0,"ms":0.012,"mem":2097152}`))
	f.Add([]byte(`{"v":"done","ms":1,"ms":2}`))
	f.Add([]byte(`{"v":"done","mem":1.5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := quickAnswer(text)
		var want answer
		if err := json.Unmarshal(text, &want); ok && err == nil && got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	text := []byte(`{"v":"done","error":"","trace":"","delay_ms":0,"ms":0.012,"mem":2097152}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseAnswer(text); err != nil {
			b.Fatal(err)
		}
	}
}
