package compat

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stringOf returns the characters of value, a JSON text, or "" when it is no string.
func stringOf(value string) string {
	if value == "" || value[0] != '"' {
		return ""
	}
	return unquote(value)
}

// unquote returns the characters of a JSON string that the scanner has passed. Half a surrogate pair becomes
// U+FFFD, invalid bytes stay. Without an escape it copies nothing.
func unquote(quoted string) string {
	s := quoted[1 : len(quoted)-1]
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for at >= 0 {
		out = append(out, s[:at]...)
		s = s[at:]
		size := 2
		switch s[1] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			var r rune
			r, size, _ = unicodeEscape(s)
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, s[1])
		}
		s = s[size:]
		at = strings.IndexByte(s, '\\')
	}
	return string(append(out, s...))
}

// maxCount is the largest count that intCast returns: one more try must not wrap around to below the limit.
const maxCount = math.MaxInt - 1

// intCast reads value, a JSON text, as PHP's (int) reads what json_decode makes of it; "" is an absent field.
// Numbers beyond the integers are cut off at the ends, where PHP's result depends on type and version.
func intCast(value string) int {
	if value == "" {
		return 0
	}
	switch value[0] {
	case '"':
		return number(numericPrefix(unquote(value)))
	case 't':
		return 1
	case 'f', 'n':
		return 0
	case '{', '[': // an array: empty or not
		if strings.Trim(value[1:len(value)-1], " \t\n\r") == "" {
			return 0
		}
		return 1
	}
	return number(value)
}

// isNumeric reports whether value, a JSON text, is a number or a string that begins with one.
func isNumeric(value string) bool {
	switch {
	case value == "":
		return false
	case value[0] == '"':
		return numericPrefix(unquote(value)) != ""
	}
	return value[0] == '-' || isDigit(value[0])
}

// numericPrefix returns the number that s begins with for PHP, white space before it left out.
func numericPrefix(s string) string {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	n := 0
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	whole := digitsAt(s, n)
	n += whole
	if n < len(s) && s[n] == '.' {
		fraction := digitsAt(s, n+1)
		if whole+fraction == 0 {
			return ""
		}
		n += 1 + fraction
	} else if whole == 0 {
		return ""
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		exp := n + 1
		if exp < len(s) && (s[exp] == '+' || s[exp] == '-') {
			exp++
		}
		if digits := digitsAt(s, exp); digits > 0 {
			n = exp + digits
		}
	}
	return s[:n]
}

// digitsAt counts the digits of s from i on.
func digitsAt(s string, i int) int {
	n := 0
	for i+n < len(s) && isDigit(s[i+n]) {
		n++
	}
	return n
}

// number returns the whole part of a decimal number, cut off at the ends of the integers; 0 for "".
func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return min(n, maxCount)
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range it is infinite, and that is what we want
	switch {
	case f >= maxCount:
		return maxCount
	case f <= math.MinInt:
		return math.MinInt
	}
	return int(f)
}
