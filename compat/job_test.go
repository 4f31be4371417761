package compat_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"sidecar/compat"
)

func TestTheUUIDIsAStringOrANumbersText(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                            "",
		`{"uuid":"a1"}`:                 "a1",
		`{"uuid":""}`:                   "",
		`{"uuid":"订单\/1\n"}`:            "订单/1\n",
		`{"uuid":7}`:                    "7",
		`{"uuid":-1.50e+2}`:             "-1.50e+2",
		`{"uuid":18446744073709551616}`: "18446744073709551616",
		`{"uuid":null}`:                 "",
		`{"uuid":true}`:                 "",
		`{"uuid":["a1"]}`:               "",
		`{"uuid":{"uuid":"a1"}}`:        "",
		`{"payload":{"uuid":"a1"}}`:     "",
		`{"UUID":"a1"}`:                 "",
		`{"u\u0075id":"a1"}`:            "a1",
		`{"uuid":"\ud83d"}`:             "\uFFFD",
		"{\"uuid\":\"\xE9\"}":           "\xE9",
	} {
		if got := parse(t, text).UUID(); got != want {
			t.Errorf("uuid of %s is %q, want %q", text, got, want)
		}
	}
}

// PHP's own result wraps around or is undefined there; what matters is that the limit is reached and one more try stays above it.
func TestACountBeyondTheIntegersSaturates(t *testing.T) {
	for value, want := range map[string]int{
		"9223372036854775807":      math.MaxInt - 1,
		"9223372036854775808":      math.MaxInt - 1,
		"1e20":                     math.MaxInt - 1,
		"1e999":                    math.MaxInt - 1,
		`"99999999999999999999"`:   math.MaxInt - 1,
		`"1e999"`:                  math.MaxInt - 1,
		"-9223372036854775809":     math.MinInt,
		"-1e999":                   math.MinInt,
		strings.Repeat("9", 10000): math.MaxInt - 1,
	} {
		tries := parse(t, `{"retry":`+value+`}`).Tries()
		if tries != want {
			t.Errorf("retry %.40s is %d, want %d", value, tries, want)
		}
		if next := parse(t, parse(t, `{}`).WithTries(tries+1).Raw()).Tries(); tries > 0 && next < tries {
			t.Errorf("one try above %d is %d", tries, next)
		}
	}
}

func TestLastErrorIsItsCharactersOrNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                "",
		`{"last_error":"a\"b\\c\/d"}`:       `a"b\c/d`,
		`{"last_error":null}`:               "",
		`{"last_error":7}`:                  "",
		`{"last_error":"\b\f\n\r\t\u0041"}`: "\b\f\n\r\tA",
	} {
		if got := parse(t, text).LastError(); got != want {
			t.Errorf("last error of %s is %q, want %q", text, got, want)
		}
	}
}

func TestAnErrorSaysWhatWasFoundAndWhere(t *testing.T) {
	for text, reason := range map[string]string{
		"":                    "it ends at byte 0, want '{'",
		"  \n":                "it ends at byte 3, want '{'",
		`{"a":1`:              "it ends at byte 6, want ',' or '}'",
		`{"a":[1`:             "it ends at byte 7, want ',' or ']'",
		`{"a":1}}`:            "found '}' at byte 7, want nothing more",
		`{"a":tru}`:           "found 't' at byte 5, want true",
		`{"a" 1}`:             "found '1' at byte 5, want ':'",
		`{a:1}`:               "found 'a' at byte 1, want a key",
		`{"a":}`:              "found '}' at byte 5, want a value",
		`{"a":-}`:             "found '}' at byte 6, want a digit",
		"{\"a\":\"x\ny\"}":    "found byte 0x0a at byte 7, want '\"'",
		`{"a":"\x"}`:          "found 'x' at byte 7, want an escape sequence",
		`{"a":"\u12"}`:        "found 'u' at byte 7, want 'u' and four hexadecimal digits",
		"{\"a\":\"x\"\xE9}":   "found byte 0xe9 at byte 8, want ',' or '}'",
		"{\"a\":\"x\"\u00A0}": "found byte 0xc2 at byte 8, want ',' or '}'",
	} {
		job, err := compat.ParseJob(text)
		wantNotObject(t, text, err, reason)
		if job != (compat.Job{}) {
			t.Errorf("%q: an error and a job", text)
		}
	}
}

func TestAReplayedWrapperIsNoJob(t *testing.T) {
	for text, wrapped := range map[string]bool{
		`{"sidecar_raw":"aGk="}`: true,
		`{"sidecar_raw":""}`:     true,
		` { "sidecar_raw" : "aGk=" , "retry":0,"replayed_at":"2024-05-02 00:00:01"}`: true,
		`{"retry":1,"last_error":"x","crashes":2,"sidecar_raw":"aGk="}`:              true,
		`{"sidecar_raw":"aGk"}`:              false, // no base64: somebody else's field
		`{"sidecar_raw":7}`:                  false,
		`{"sidecar_raw":"aGk=","uuid":"a"}`:  false, // a business object that has such a field
		`{"sidecar_raw":"aGk=","x":1}`:       false,
		`{"payload":{"sidecar_raw":"aGk="}}`: false,
	} {
		_, err := compat.ParseJob(text)
		if errors.Is(err, compat.ErrWrapped) != wrapped || !wrapped && err != nil {
			t.Errorf("%s: got %v, want wrapped: %t", text, err, wrapped)
		}
	}
}

func TestWhatPHPRefusesIsStillAJob(t *testing.T) {
	for text, reason := range map[string]string{
		"{\"a\":\"\xFF\"}":            "invalid UTF-8 at byte 6",
		"{\"\xFF\":1,\"b\":\"\xFE\"}": "invalid UTF-8 at byte 2",
		`{"a":"\ude00"}`:              "half a surrogate pair at byte 6",
		`{"a":"x\ud83d\ud83d\ude00"}`: "half a surrogate pair at byte 7",
		"{\"a\":" + nested(511) + "}": "nesting reaches 512 levels at byte 515",
	} {
		job := parse(t, text)
		if err := job.PHPError(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.40q: PHP error is %v, want %s", text, err, reason)
		}
		wantText(t, "raw", job.Raw(), text)
	}
	if err := parse(t, `{"a":"\ud83d\ude00 �"}`).PHPError(); err != nil {
		t.Errorf("a whole pair and a real U+FFFD: %v", err)
	}
}

func TestDepthAndSizeAreNoLimits(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 10_000) + strings.Repeat("]}", 10_000)
	texts := map[string]string{
		"20,000 levels":    `{"uuid":"a1","d":` + deep + `,"retry":3}`,
		"a million levels": `{"uuid":"a1","d":` + nested(1_000_000) + `,"retry":3}`,
		"20 MB in one":     `{"uuid":"a1","d":"` + strings.Repeat("订", 20<<20/3) + `","retry":3}`,
		"20 MB in many":    `{"uuid":"a1","d":[` + strings.Repeat(`{"k":"v"},`, 2<<20) + `0],"retry":3}`,
	}
	for name, text := range texts {
		job := parse(t, text).WithTries(4)
		if job.UUID() != "a1" || len(job.Raw()) != len(text) || job.Tries() != 4 {
			t.Errorf("%s: uuid %q, %d tries", name, job.UUID(), job.Tries())
		}
	}
	for _, text := range []string{strings.Repeat("[", 1_000_000), `{"a":` + strings.Repeat(`{"a":`, 1_000_000), `{"d":` + deep + "]"} {
		if _, err := compat.ParseJob(text); err == nil {
			t.Errorf("%.20s…: no error", text)
		}
	}
}

func TestBracketsMustMatchAtEveryDepth(t *testing.T) {
	for _, depth := range []int{1, 63, 64, 65, 511, 512, 513, 575, 576, 577, 2000} {
		half := strings.Repeat("[", depth-1)
		parse(t, `{"a":`+half+`{"b":1}`+strings.Repeat("]", depth-1)+`}`)
		for _, wrong := range []string{`{"b":1]`, `[1}`, `{1}`, `["b":1]`} {
			if _, err := compat.ParseJob(`{"a":` + half + wrong + strings.Repeat("]", depth-1) + `}`); err == nil {
				t.Errorf("depth %d: %s is taken", depth, wrong)
			}
		}
	}
}

// nested returns empty lists, depth levels of them.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestAnyStringAtTheOutermostLevelCanBeLookedUp(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"there":       {`{"uuid":"a","traceparent":"00-1"}`, "00-1"},
		"escaped":     {`{"trace\u0070arent":"\u0030"}`, "0"},
		"the last":    {`{"traceparent":"a","traceparent":"b"}`, "b"},
		"deeper only": {`{"payload":{"traceparent":"a"}}`, ""},
		"no string":   {`{"traceparent":17}`, ""},
		"not there":   {`{"uuid":"a"}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			job, err := compat.ParseJob(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := job.Lookup("traceparent"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := (compat.Job{}).Lookup("traceparent"); got != "" {
		t.Errorf("of no job: got %q", got)
	}
}
