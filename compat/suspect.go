package compat

import (
	"fmt"
	"strings"
)

// explain turns a scanner's error into an ErrNotObject. Where the text looks like something a PHP client is
// known to write instead of a job, it says that, and what helps: it is the setting to change, not the byte.
func explain(text string, err error) error {
	if what := unwrappable(text); what != "" {
		return fmt.Errorf(`%w: looks like %s: encoding = "auto" unwraps a text in it`, ErrNotObject, what)
	}
	if what := suspect(text); what != "" {
		return fmt.Errorf("%w: looks like %s", ErrNotObject, what)
	}
	return fmt.Errorf("%w: %w", ErrNotObject, err)
}

// unwrappable names the option of phpredis that seems to be at work in a text that is no JSON object, or returns "".
func unwrappable(text string) string {
	switch {
	case isSerialized(text) && text[0] == 's':
		return "a PHP-serialized value (phpredis OPT_SERIALIZER)"
	case hasAnyPrefix(text, "\x00\x00\x00\x01", "\x00\x00\x00\x02"):
		return "an igbinary value (phpredis OPT_SERIALIZER)"
	case isMsgpack(text):
		return "a msgpack value (phpredis OPT_SERIALIZER)"
	case isQuotedJSON(text):
		return "JSON in a JSON string (phpredis OPT_SERIALIZER beside json_encode)"
	case hasAnyPrefix(text, "\x28\xb5\x2f\xfd"):
		return "a zstd-compressed value (phpredis OPT_COMPRESSION)"
	case isLZ4(text):
		return "an LZ4-compressed value (phpredis OPT_COMPRESSION)"
	case isLZF(text):
		return "an LZF-compressed value (phpredis OPT_COMPRESSION)"
	}
	return ""
}

// suspect names what else a text that is no JSON object looks like, or returns "".
func suspect(text string) string {
	switch {
	case isSerialized(text): // json_encode was forgotten, or left to OPT_SERIALIZER
		return "a PHP-serialized value (phpredis OPT_SERIALIZER) that is no text: the producer has to json_encode the job"
	case hasAnyPrefix(text, "\x1f\x8b", "\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda"):
		return "a compressed value (gzencode or gzcompress)"
	case hasAnyPrefix(text, "\xef\xbb\xbf"):
		return "JSON behind a byte order mark"
	case hasAnyPrefix(text, "["):
		return "a JSON array"
	}
	return ""
}

func hasAnyPrefix(text string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// isSerialized reports whether text begins and ends like the output of serialize().
func isSerialized(text string) bool {
	if text == "N;" {
		return true
	}
	if len(text) < 4 || text[1] != ':' || text[len(text)-1] != ';' && text[len(text)-1] != '}' {
		return false
	}
	switch text[0] {
	case 'a', 's', 'O', 'C', 'E', 'b':
		return isDigit(text[2])
	case 'i', 'd':
		return isDigit(text[2]) || text[2] == '-'
	}
	return false
}

// isMsgpack reports whether text is a msgpack string that holds an object, or begins like a small map with
// short keys.
func isMsgpack(text string) bool {
	for _, head := range []struct {
		lead byte
		size int // bytes of the length behind lead
	}{{0xD9, 1}, {0xDA, 2}, {0xDB, 4}} {
		if len(text) > head.size && text[0] == head.lead {
			n := 0
			for _, c := range []byte(text[1 : 1+head.size]) {
				n = n<<8 | int(c)
			}
			return n == len(text)-1-head.size && strings.HasPrefix(text[1+head.size:], "{")
		}
	}
	if len(text) < 2 {
		return false
	}
	shortString := text[0]&0xE0 == 0xA0 && int(text[0]&0x1F) == len(text)-1 && text[1] == '{'
	shortMap := text[0] > 0x80 && text[0] <= 0x8F && text[1] > 0xA0 && text[1] <= 0xBF
	return shortString || shortMap
}

// isQuotedJSON reports whether text is a JSON string that holds an object.
func isQuotedJSON(text string) bool {
	inside, err := ParsePHPString(text)
	return err == nil && strings.HasPrefix(inside, "{")
}

// isLZ4 reports whether text has phpredis's head, and then literals that begin an object.
func isLZ4(text string) bool {
	_, ok := LZ4Length(text)
	return ok && strings.Contains(text[LZ4Head:min(LZ4Head+3, len(text))], "{")
}

// isLZF reports whether text begins with literals that begin an object, and is LZF.
func isLZF(text string) bool {
	if len(text) < 3 || text[0] >= 32 || text[1] != '{' {
		return false
	}
	_, ok := LZFLength(text)
	return ok
}
