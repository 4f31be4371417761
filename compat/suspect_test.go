package compat_test

import (
	"strings"
	"testing"

	"sidecar/compat"
)

func TestWhatAMemberLooksLike(t *testing.T) {
	long := `{"uuid":"q1","pad":"` + strings.Repeat("x", 300) + `"}` // 322 bytes: 0x0142
	for text, reason := range map[string]string{
		"N;":                          "PHP-serialized",
		"i:42;":                       "PHP-serialized",
		"i:-42;":                      "PHP-serialized",
		"d:0.5;":                      "PHP-serialized",
		"b:1;":                        "PHP-serialized",
		`O:8:"stdClass":0:{}`:         "PHP-serialized",
		`E:3:"A:B";`:                  "PHP-serialized",
		`s:14:"{"uuid":"a1"}";`:       "PHP-serialized value (phpredis OPT_SERIALIZER): ",
		"\x00\x00\x00\x01\x00":        "igbinary",
		"\xAC" + `{"uuid":"a"}`:       "msgpack",
		"\xD9\x0C{\"uuid\":\"a\"}":    "msgpack",
		"\xDA\x01\x42" + long:         "msgpack",
		"\xDB\x00\x00\x01\x42" + long: "msgpack",
		"\x81\xA4uuid\xA1a":           "msgpack",
		`"{\"uuid\":\"a\"}"`:          "JSON in a JSON string",
		"\x28\xB5\x2F\xFD\x20":        "zstd",
		"\x78\x9C\x4B":                "gzcompress",
		"\x1F\x8B\x08":                "gzencode",
	} {
		_, err := compat.ParseJob(text)
		wantNotObject(t, text, err, "looks like ")
		wantNotObject(t, text, err, reason)
		if helps := reason != "gzcompress" && reason != "gzencode" && reason != "PHP-serialized"; helps != strings.Contains(err.Error(), `encoding = "auto"`) {
			t.Errorf("%q: whether auto helps is %t: %v", text, helps, err)
		}
	}
}

// A wrong guess sends people after a setting that is not to blame.
func TestOrdinaryFaultsAreNotTakenForAnEncoding(t *testing.T) {
	for _, text := range []string{
		"a:b", "s:", "x:1;", "a:b;", "a:1", "b:", "N", "hello", `{"uuid":"a1"`, `{"uuid":"a1",}`, `"str"`, `"cut`, `"{\"a\":1}" x`, "\x0a{\"uuid\":\"a1\"",
		"\t{\"uuid\":\"a1\",\"b\":[1,2,}", "\x81", "\xD9", "\xD9\x0C", "\xDA\x01", "\x00\x00\x00", "\x00\x00\x00\x03x", "\x05{", "\x05{\"a",
		"\x02{\"a\xFF", "\x02{\"a\xFF\x01", "\x02{\"a\x20", "\x02{\"a\x20\x09", "12345{\"a\"", strings.Repeat("\x01", 9),
	} {
		if _, err := compat.ParseJob(text); err == nil || strings.Contains(err.Error(), "looks like") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The walk of an LZF member may begin with a byte that JSON takes for white space.
func TestAnLZFMemberThatBeginsLikeSpaceIsNamed(t *testing.T) {
	text := "\x0a" + `{"uuid":"` + "a\"" + "\x20\x08" // 11 literals, then 3 bytes from 9 back
	_, err := compat.ParseJob(text)
	wantNotObject(t, text, err, "LZF")
}
