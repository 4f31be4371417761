package compat

import (
	"math/bits"
	"strings"
	"unicode/utf16"
)

// peek returns the byte at pos, 0 at the end: no token begins with a NUL.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// space moves past the four bytes that JSON calls white space.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// literal moves past word. PHP takes these in lower case only.
func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.wanted(word)
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	} else if !isDigit(s.peek()) {
		return s.wanted("a value")
	}
	if s.peek() == '0' {
		s.pos++ // and no digit behind it
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.peek() == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

// digits moves past one digit or more.
func (s *scanner) digits() error {
	if !isDigit(s.peek()) {
		return s.wanted("a digit")
	}
	for isDigit(s.peek()) {
		s.pos++
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str moves past a string. Whether its bytes are UTF-8 is asked once, of the whole text.
func (s *scanner) str() error {
	s.pos++
	for {
		s.pos += plain(s.text[s.pos:])
		switch s.peek() {
		case '"':
			s.pos++
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.wanted(`'"'`) // the end, or a bare control character
		}
	}
}

// escape moves past an escape sequence; past both halves of a surrogate pair.
func (s *scanner) escape() error {
	start := s.pos
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		_, size, whole := unicodeEscape(s.text[start:])
		if size == 0 {
			return s.wanted("'u' and four hexadecimal digits")
		}
		if !whole {
			s.refused(badSurrogate, start)
		}
		s.pos = start + size
		return nil
	}
	return s.wanted("an escape sequence")
}

// unicodeEscape decodes the \uXXXX, or the pair of them, that s begins with, and returns its size, 0 when
// there is none. It is whole unless it is half a surrogate pair.
func unicodeEscape(s string) (r rune, size int, whole bool) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0, false
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, true
	}
	if low, ok := hex4(s[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
			return pair, 12, true
		}
	}
	return '\uFFFD', 6, false
}

// hex4 reads the \uXXXX that s begins with.
func hex4(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		r <<= 4
		switch {
		case isDigit(c):
			r |= rune(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r |= rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return r, true
}

// plain returns how many bytes of a string's inside come before the next one that needs a look: a quote, a
// backslash or a control character. It reads eight at a time.
func plain(s string) int {
	n := 0
	for len(s)-n >= 8 {
		if hits := special(eight(s[n:])); hits != 0 {
			return n + bits.TrailingZeros64(hits)/8
		}
		n += 8
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// eight returns the first eight bytes of s, the first one lowest. The compiler makes one load of it.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special sets the high bit of the lowest byte of w that is a quote, a backslash or below a space. Bits
// above that one mean nothing: the subtraction borrows from them.
func special(w uint64) uint64 {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}
