package encoding_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"sidecar/compat"
	"sidecar/compat/encoding"
	"sidecar/internal/testenv/wire"
)

// limit is one that no text of these tests reaches unless it says so.
const limit = 1 << 20

func vectors(t testing.TB, group string) []wire.Vector {
	t.Helper()
	return wire.Vectors(t, "../../testdata/wire", group)
}

func TestEveryFormThatPHPWritesIsReadAndNamed(t *testing.T) {
	forms := map[string]int{}
	for _, v := range vectors(t, "encodings") {
		what := v["form"] + ", " + v["case"]
		text, form, err := encoding.Decode(v["stored"], limit)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if form.String() != v["form"] {
			t.Errorf("%s: read as %s", what, form)
		}
		if sum := sha1.Sum([]byte(text)); len(text) != v.Int(t, "length") || hex.EncodeToString(sum[:]) != v["sha1"] {
			t.Errorf("%s: got %d bytes, %.80q, want %s bytes, %q", what, len(text), text, v["length"], v["text"])
		}
		forms[v["form"]]++
	}
	if len(forms) != 19 { // five serializers, none among them, times four compressions, less none at all
		t.Errorf("forms seen: %v", forms)
	}
}

func TestWhatHoldsNoTextSaysWhatItIsAndWhatToDo(t *testing.T) {
	words := map[string]string{
		"array": "array|map", "map": "array|map", "object": "object|map", "null": "null",
		"int": "number|another type", "float": "number|another type", "bool": "bool|another type",
	}
	for _, v := range vectors(t, "values") {
		what := v["value"] + " in " + v["form"]
		text, form, err := encoding.Decode(v["stored"], limit)
		if isScalar := words[v["value"]] != "array|map" && v["value"] != "object"; isScalar && strings.HasPrefix(v["form"], "msgpack") {
			continue // msgpack has no header: a byte or two of it may be anything
		}
		if !errors.Is(err, compat.ErrNotObject) || text != "" || form != (encoding.Form{}) {
			t.Errorf("%s: got %.40q, %s, %v", what, text, form, err)
			continue
		}
		if !strings.Contains(err.Error(), "which is no text: the producer has to json_encode the job") || !containsOne(err.Error(), words[v["value"]]) {
			t.Errorf("%s: %v", what, err)
		}
		if _, compressed, ok := strings.Cut(v["form"], "+"); ok && !strings.Contains(err.Error(), compressed+"-compressed") {
			t.Errorf("%s: the compression is not named: %v", what, err)
		}
	}
}

func containsOne(text, words string) bool {
	for word := range strings.SplitSeq(words, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func TestAPlainTextComesBackAsItIs(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"uuid":"a1"}`, `{"uuid":`, `{`, `{"订":1}`, ` {"uuid":"a1"}`, "\n{\"uuid\":\"a1\"}", "\r\n\t{\n  \"uuid\": \"a1\"\n}\n",
		"\t {\"sidecar_raw\":\"aGk=\"}", `{"pad":"` + strings.Repeat("x", 2*limit) + `"}`,
	} {
		got, form, err := encoding.Decode(text, limit)
		if got != text || form != (encoding.Form{}) || err != nil {
			t.Errorf("%.40q comes back as %.40q, %s, %v", text, got, form, err)
		}
	}
}

func TestWhatIsOfNoFormIsExplainedAsParseJobDoes(t *testing.T) {
	for _, stored := range []string{
		"", "null", "42", "[]", "hello", "\xEF\xBB\xBF{}", "\x1F\x8B\x08", "\x78\x9C\x4B", "N", "s:", "x:1;", "a:b;", "a:1", "b:", "\x81", "\xD9", "\xDA\x01",
		"\x00\x00\x00", "\n", "\t[", "订单", "\x05", "\xFF", "{\"a\"\x01}", `\{"uuid"`,
	} {
		_, want := compat.ParseJob(stored)
		_, _, err := encoding.Decode(stored, limit)
		if err == nil || err.Error() != want.Error() {
			t.Errorf("%q: got %v, want %v", stored, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "encoding =") {
			t.Errorf("%q: advice that has been taken already: %v", stored, err)
		}
	}
}

func TestDamagedDataIsNamed(t *testing.T) {
	for stored, want := range map[string]string{
		`s:99:"{}";`:                             "PHP-serialized string",
		`s:2:"{}"`:                               "PHP-serialized string",
		`s:1:"{}";`:                              "PHP-serialized string",
		`s:2:{{}};`:                              "PHP-serialized string",
		`"{\"uuid\":\"a1\"}`:                     "JSON in a JSON string",
		`"{}" x`:                                 "JSON in a JSON string",
		`"{\"uuid\":\"\ud800\"}"`:                "half a surrogate pair",
		"\"{\xFF}\"":                             "invalid UTF-8",
		"\x00\x00\x00\x02":                       "igbinary",
		"\x00\x00\x00\x02\x11":                   "igbinary string",
		"\x00\x00\x00\x02\x11\x03{}":             "igbinary string",
		"\x00\x00\x00\x02\x12\x02{}":             "igbinary string",
		"\x00\x00\x00\x02\x0D{}":                 "igbinary string",
		"\xA3{}":                                 "msgpack string",
		"\xD9\x03{}":                             "msgpack string",
		"\xC5\x00\x03{}":                         "msgpack string",
		"\x28\xB5\x2F\xFD":                       "zstd-compressed value",
		"\x28\xB5\x2F\xFD\x20\x07\x39\x00\x00{}": "zstd-compressed value",
		"\x45\x07\x00\x00\x00\x70{}":             "LZ4-compressed value",
		"\x06{\"a\":":                            "LZF-compressed value",
	} {
		_, _, err := encoding.Decode(stored, limit)
		if !errors.Is(err, compat.ErrNotObject) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", stored, err, want)
		}
	}
}

// A member cut off anywhere is no job. (LZF cut between two of its steps cannot be told from a shorter text.)
func TestAMemberThatIsCutOffIsNoJob(t *testing.T) {
	for _, v := range vectors(t, "encodings") {
		stored := v["stored"]
		for _, n := range []int{1, 4, 5, 9, len(stored) / 2, len(stored) - 2, len(stored) - 1} {
			if n >= len(stored) {
				continue
			}
			text, form, err := encoding.Decode(stored[:n], limit)
			if err != nil {
				continue
			}
			if _, err := compat.ParseJob(text); err == nil {
				t.Errorf("%s, %s: %d of %d bytes are the job %.80q in %s", v["form"], v["case"], n, len(stored), text, form)
			}
		}
	}
}

func TestIgbinaryOfOldExtensionsAndMsgpackOfOtherLanguagesAreRead(t *testing.T) {
	for stored, name := range map[string]string{
		"\x00\x00\x00\x01\x11\x02{}": "igbinary",
		"\xC4\x02{}":                 "msgpack",
		"\xC5\x00\x02{}":             "msgpack",
		"\xC6\x00\x00\x00\x02{}":     "msgpack",
		"\xDA\x00\x02{}":             "msgpack", // of the time before str8
	} {
		text, form, err := encoding.Decode(stored, limit)
		if text != "{}" || form.String() != name || err != nil {
			t.Errorf("%q: got %q, %s, %v", stored, text, form, err)
		}
	}
}

// phpredis writes the length into every frame; other writers stream.
func TestAZstdFrameThatDoesNotSayItsLengthIsRead(t *testing.T) {
	job := `{"uuid":"a1","pad":"` + strings.Repeat("x", 100_000) + `"}`
	frame := streamed(t, job)
	text, form, err := encoding.Decode(frame, limit)
	if text != job || form.String() != "zstd" || err != nil {
		t.Errorf("got %d bytes, %s, %v", len(text), form, err)
	}
	if text, _, err := encoding.Decode(frame, len(job)); text != job || err != nil {
		t.Errorf("with just enough room: got %d bytes, %v", len(text), err)
	}
	if text, _, err := encoding.Decode(frame, len(job)-1); err == nil || !strings.Contains(err.Error(), "decode_limit is") {
		t.Errorf("with too little room: got %d bytes, %v", len(text), err)
	}
}

// streamed compresses without knowing the end, so that the frame has no length.
func streamed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for half := range strings.SplitAfterSeq(text, ",") {
		if _, err := w.Write([]byte(half)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The check byte of an LZ4 member can be any, a brace too.
func TestAnLZ4MemberMayBeginWithABrace(t *testing.T) {
	lz4 := forms(t)["lz4"]
	found := 0
	for n := range 2000 {
		job := `{"p":"` + strings.Repeat("x", n) + `"}`
		stored, err := lz4.Encode(job)
		if err != nil {
			t.Fatal(err)
		}
		if stored[0] != '{' && strings.IndexByte(" \t\n\r", stored[0]) < 0 {
			continue
		}
		found++
		if text, form, err := encoding.Decode(stored, limit); text != job || form != lz4 || err != nil {
			t.Errorf("%q: got %q, %s, %v", stored, text, form, err)
		}
	}
	if found < 5 {
		t.Errorf("%d members begin like an object", found)
	}
}

// A control byte of LZF may be one that JSON takes for white space. Where it is JSON as well, it is that: the same job.
func TestAnLZFMemberMayBeginLikeSpace(t *testing.T) {
	lzf := forms(t)["lzf"]
	for job, lead := range map[string]byte{
		`{"aaa":11,"aaa":11,"b":2}`:         '\t',
		`{"aaa":111,"aaa":111,"b":2}`:       '\n',
		`{"aaa":123456,"aaa":123456,"b":2}`: '\r',
		`{"aaa":12345,"aaa":12345,"b":2}`:   12,
	} {
		stored, err := lzf.Encode(job)
		if err != nil || stored[0] != lead {
			t.Fatalf("%s becomes %q, %v", job, stored, err)
		}
		if text, form, err := encoding.Decode(stored, limit); text != job || form != lzf || err != nil {
			t.Errorf("%q: got %q, %s, %v", stored, text, form, err)
		}
	}
	both := "\n" + `{"a":"bcd"}`
	if text, form, err := encoding.Decode(both, limit); text != both || form != (encoding.Form{}) || err != nil {
		t.Errorf("%q: got %q, %s, %v", both, text, form, err)
	}
}
