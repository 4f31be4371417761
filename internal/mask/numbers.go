package mask

import (
	"strings"
	"unicode/utf8"
)

// hideNumbers returns text without what looks like a phone or identity number: runs of digits, with the separators that
// people write in them.
func hideNumbers(text string) string {
	var out strings.Builder
	kept := 0 // text up to here is in out
	for i := 0; i < len(text); {
		if escaped(text[i:]) {
			i += len("%20")
			continue
		}
		digit, size := digitAt(text, i)
		if digit < 0 && text[i] != '+' {
			i += size
			continue
		}
		end, found := numberAt(text, i)
		if found {
			out.WriteString(text[kept:i])
			out.WriteString(Hidden)
			kept = end
		}
		i = end
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// escaped reports that text begins with a byte of a URL in percents, whose digits are no part of the number that may follow: but where they are,
// as in 100%13812345678, they are somebody's.
func escaped(text string) bool {
	if len(text) < len("%20") || text[0] != '%' || !hexDigit(text[1]) || !hexDigit(text[2]) {
		return false
	}
	from := 1
	if digit, _ := digitAt(text, from); digit < 0 {
		from = 2
	}
	_, found := numberAt(text, from)
	return !found
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// digitAt returns the digit that begins at i, full-width ones included, or -1, and how many bytes stand there.
func digitAt(text string, i int) (digit, size int) {
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0'), size
	case '０' <= r && r <= '９':
		return int(r - '０'), size
	}
	return -1, size
}

// mostDigits is how long a number may be that is somebody's.
const mostDigits = 18

// between are what people and word processors write between the digits of one number.
const between = " \t-()\u00a0\u2007\u202f\u2010\u2011\u2012\u2013\u2014\u2212\u3000（）－"

// numberAt looks for somebody's number that begins at i: groups of digits behind a plus or none, as many as still make
// one. It returns where that ends, or where the first group does when there is none.
func numberAt(text string, i int) (end int, found bool) {
	var number strings.Builder
	at := i
	if text[at] == '+' {
		number.WriteByte('+')
		at++
	}
	first := 0
	for number.Len() <= mostDigits+1 {
		at = groupAt(text, at, &number)
		if first == 0 {
			first = max(at, i+1)
		}
		if personal(number.String()) {
			end, found = at, true
		}
		if next := strings.TrimLeft(text[at:], between); next != text[at:] && next != "" {
			at = len(text) - len(next)
		} else {
			break
		}
		if digit, _ := digitAt(text, at); digit < 0 {
			break
		}
	}
	if found {
		return end, true
	}
	return first, false
}

// groupAt adds the digits that stand at i to number, and the X at the end of an identity number. It returns where they end.
func groupAt(text string, i int, number *strings.Builder) (end int) {
	from := number.Len()
	for i < len(text) {
		digit, size := digitAt(text, i)
		if digit < 0 {
			break
		}
		number.WriteByte(byte('0' + digit))
		i += size
	}
	if number.Len()-from == mostDigits-1 && i < len(text) && (text[i] == 'x' || text[i] == 'X') {
		number.WriteByte('X')
		i++
	}
	return i
}

// personal reports that a number is a phone's or a person's, as far as that can be seen.
func personal(number string) bool {
	plain, international := strings.CutPrefix(number, "+")
	if international {
		return len(plain) >= 8 && len(plain) <= 15
	}
	return mobile(plain) || identity(plain)
}

// mobile reports a Chinese mobile number, with or without the country before it.
func mobile(number string) bool {
	for _, country := range []string{"0086", "86", "0"} {
		if rest, ok := strings.CutPrefix(number, country); ok && len(rest) == 11 {
			number = rest
		}
	}
	return len(number) == 11 && number[0] == '1' && number[1] >= '3'
}

// identity reports a Chinese identity number: a place, a day of birth, a serial number and a check digit.
func identity(number string) bool {
	if len(number) != 18 || number[0] == '0' {
		return false
	}
	year, month, day := number[6:10], number[10:12], number[12:14]
	return year >= "1850" && year <= "2100" && month >= "01" && month <= "12" && day >= "01" && day <= "31"
}
