package cli

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// visible writes text for terminals: characters that would move the cursor, change a title or the order of reading come
// out as \u001b, which inside of JSON means what it meant. Only line ends and tabs are left. What is shown may be the
// words of a job, and those are anybody's who may write to Redis.
type visible struct{ to io.Writer }

// Write writes p, which must not end within a character.
func (w visible) Write(p []byte) (int, error) {
	if _, err := w.to.Write(escaped(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escaped returns p itself where nothing is to be escaped.
func escaped(p []byte) []byte {
	var out []byte
	kept := 0
	for at := 0; at < len(p); {
		r, size := utf8.DecodeRune(p[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(append(out, p[kept:at]...), `\x%02x`, p[at])
			kept = at + size
		case acts(r):
			out = fmt.Appendf(append(out, p[kept:at]...), `\u%04x`, r)
			kept = at + size
		}
		at += size
	}
	if kept == 0 {
		return p
	}
	return append(out, p[kept:]...)
}

// acts reports that r does something to a terminal, or to the text around it, rather than to show something.
func acts(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // the order of reading
		return true
	}
	return false
}
