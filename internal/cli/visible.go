package cli

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// visible writes text for terminals: characters that would move the cursor, change a title or the order of reading come
// out as \u001b, which inside of JSON means what it meant. Only line ends and tabs are left. What is shown may be the
// words of a job, and those are anybody's who may write to Redis.
type visible struct {
	to     io.Writer
	colour bool // paint has a say
}

// visibleOf returns w for text that may be anybody's. On a terminal it takes colours, unless NO_COLOR is in the environment.
func visibleOf(w io.Writer) visible {
	return visible{to: w, colour: terminalOf(w) != nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// style is how text is painted; "" leaves it as it is.
type style string

// The styles, by what they say.
const (
	heading style = "\x1b[1m"
	faint   style = "\x1b[2m"
	bad     style = "\x1b[31m"
	good    style = "\x1b[32m"
	warned  style = "\x1b[33m"
)

// paint writes text to w, in the style where w takes colours.
func paint(w io.Writer, s style, text string) {
	v, ok := w.(visible)
	if !ok || !v.colour || s == "" {
		_, _ = io.WriteString(w, text)
		return
	}
	_, _ = io.WriteString(v.to, string(s))
	_, _ = io.WriteString(v, text)
	_, _ = io.WriteString(v.to, "\x1b[0m")
}

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
