package compat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// AppendPHPString appends s to dst as PHP's json_encode writes it with JSON_UNESCAPED_UNICODE: '/' escaped,
// U+2028 and U+2029 escaped, control characters as \b \f \n \r \t or \u00xx, all else as it is.
//
// json_encode refuses invalid UTF-8. Here each invalid sequence becomes one U+FFFD, as json_encode does it
// when asked with JSON_INVALID_UTF8_SUBSTITUTE.
func AppendPHPString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range validUTF8(s) {
		switch r {
		case '"', '\\', '/':
			dst = append(dst, '\\', byte(r))
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\u2028', '\u2029':
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			if r < ' ' {
				dst = fmt.Appendf(dst, `\u%04x`, r)
				continue
			}
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// ParsePHPString returns the characters of quoted, one JSON string with nothing around it, as json_decode reads them. It
// fails where json_decode does.
func ParsePHPString(quoted string) (string, error) {
	s := scanner{text: quoted}
	if s.peek() != '"' {
		return "", s.wanted("a string")
	}
	if err := s.str(); err != nil {
		return "", err
	}
	if s.pos < len(quoted) {
		return "", s.wanted("nothing more")
	}
	if !s.fault.found() && !utf8.ValidString(quoted) {
		s.refused(badUTF8, validPrefix(quoted))
	}
	if s.fault.found() {
		return "", s.fault.err()
	}
	return unquote(quoted), nil
}

// phpString returns s as AppendPHPString writes it.
func phpString(s string) string {
	return string(AppendPHPString(make([]byte, 0, len(s)+len(s)/8+2), s))
}

// Cut returns the first n characters of s, code points as mb_substr counts them. Invalid UTF-8 is made
// valid first, as in [AppendPHPString].
func Cut(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	s = validUTF8(s)
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// validUTF8 returns s with one U+FFFD for each invalid sequence.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/2)
	for s != "" {
		good := validPrefix(s)
		out.WriteString(s[:good])
		if s = s[good:]; s != "" {
			out.WriteRune(utf8.RuneError)
			s = s[invalidLength(s):]
		}
	}
	return out.String()
}

// validPrefix returns how many bytes of s come before the first invalid one.
func validPrefix(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

// invalidLength returns how many bytes PHP takes for one invalid sequence at the start of s: the lead byte
// and what is to follow it by its kind, up to the next byte that can begin a character.
func invalidLength(s string) int {
	n := 1
	for n < len(s) && n < leadWidth(s[0]) && leadWidth(s[n]) == 0 {
		n++
	}
	return n
}

// leadWidth returns how long a character is that begins with c, 0 when none does.
func leadWidth(c byte) int {
	switch {
	case c < 0x80:
		return 1
	case c < 0xC2:
		return 0
	case c < 0xE0:
		return 2
	case c < 0xF0:
		return 3
	case c < 0xF5:
		return 4
	}
	return 0
}
