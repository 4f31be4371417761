package compat_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"sidecar/compat"
)

func TestAStringIsReadAsJSONDecodeReadsIt(t *testing.T) {
	for quoted, want := range map[string]string{
		`""`: "", `"a\"\/\\b\u8ba2\ud83d\ude00\n"`: "a\"/\\b订😀\n", `"\u0000"`: "\x00",
	} {
		if got, err := compat.ParsePHPString(quoted); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", quoted, got, err, want)
		}
	}
	for quoted, want := range map[string]string{
		``: "want a string", `a`: "want a string", `"a`: `want '"'`, `"a" `: "want nothing more", "\"a\nb\"": `want '"'`, `"\x"`: "want an escape sequence",
		`"\ud83d"`: "half a surrogate pair", "\"\xFF\"": "invalid UTF-8",
	} {
		if got, err := compat.ParsePHPString(quoted); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want %q", quoted, got, err, want)
		}
	}
}

func TestTheHeadOfAnLZ4MemberIsBelievedOnlyWhenItCanBeTrue(t *testing.T) {
	head := func(length uint32) string {
		spelled := string(binary.LittleEndian.AppendUint32(nil, length))
		return string([]byte{compat.LZ4Check(spelled)}) + spelled
	}
	for stored, want := range map[string]int{
		head(7) + "\x70{\"a\":1}":           7,
		"\x45\x07\x00\x00\x00\x70{\"a\":1}": 7, // as phpredis writes it
		head(255*4) + "abcd":                255 * 4,
		head(256*5) + "abcd":                -1, // four bytes stand for 1020 at most, and a step
		head(0) + "abcd":                    -1,
		head(7):                             -1,
		"\x44\x07\x00\x00\x00\x70{\"a\":1}": -1,
		"":                                  -1,
	} {
		length, ok := compat.LZ4Length(stored)
		if ok != (want > 0) || ok && length != want {
			t.Errorf("%q: got %d, %t, want %d", stored, length, ok, want)
		}
	}
}

func TestLZFIsWalkedToItsLastByte(t *testing.T) {
	for data, want := range map[string]int{
		"\x00a": 1, "\x02abc\x20\x02": 6, "\x00a\xE0\xFF\x00": 265, "\x00a\x20\x00\x01bc": 6,
		"": -1, "\x01a": -1, "\x20\x00": -1, "\x00a\x20": -1, "\x00a\xE0": -1, "\x00a\xE0\x00": -1, "\x00a\x20\x01": -1, "\x00a\x21\x00": -1,
	} {
		length, ok := compat.LZFLength(data)
		if ok != (want > 0) || ok && length != want {
			t.Errorf("%q: got %d, %t, want %d", data, length, ok, want)
		}
	}
}
