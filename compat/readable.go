package compat

import (
	"strings"
	"unicode"
)

// Readable returns a JSON text with those characters as they read that PHP escapes without need: \uXXXX and \/. What has to be escaped,
// what cannot be seen and what turns a line around stays escaped, so that it is the same JSON. Without an escape it copies nothing.
func Readable(text string) string {
	at := strings.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for ; at >= 0 && at+1 < len(text); at = strings.IndexByte(text, '\\') {
		out.WriteString(text[:at])
		text = text[at:]
		size := 2
		switch text[1] {
		case '/':
			out.WriteByte('/')
		case 'u':
			var r rune
			var whole bool
			r, size, whole = unicodeEscape(text)
			if size = max(2, size); whole && unicode.IsPrint(r) && r != '"' && r != '\\' {
				out.WriteRune(r)
			} else {
				out.WriteString(text[:size])
			}
		default:
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	out.WriteString(text)
	return out.String()
}
