package mask

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// names finds names that a value may follow, in texts of no known form, such as errors, traces, query strings, JSON in
	// JSON, and what PHP's var_export, print_r, var_dump and serializer write: a name, and what stands between it and the value. In
	// URLs a name may be in percents, with the brackets around it, and so may what stands behind it.
	names = regexp.MustCompile(`((?:[\p{L}\p{N}_-]|%(?:[0-24-9A-Fa-f][0-9A-Fa-f]|3[0-9BCEFbcef]))+)(\\*["']?\]?\s*(?:=>|[:=;]|%3[ADad])\s*(?:[saO]:\d+:(?:"[^"]*":\d+:)?|string\(\d+\)\s*)?)`)
	// parent finds the name of the field that another one is in, up to where that one's name begins.
	parent = regexp.MustCompile(`([\p{L}\p{N}_-]+)(?:\.|->|\\*["']?\]?\[\\*["']?)$`)
	// bracket is what PHP writes before the bracket around fields: print_r, var_dump, var_export.
	bracket = regexp.MustCompile(`^(?:(?:\(object\)\s*)?(?i:array)(?:\(\d+\))?|[\w\\]+::__set_state|[\w\\]+ Object|object\([\w\\]+\)#\d+ \(\d+\))\s*[({]`)
	// scheme is what stands before a token in a header.
	scheme = regexp.MustCompile(`^(?i:bearer|basic)\s+[^\s,;&]+`)
	// login finds the password in a URL, webToken a JSON web token.
	login    = regexp.MustCompile(`(://[^\s/@:"']*):[^\s/@"']+@`)
	webToken = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)
)

// Text returns a text of no known form, such as an error or a trace, without what looks like a secret or a phone number.
func (m *Masker) Text(text string) string {
	var out strings.Builder
	kept := 0 // text up to here is in out
	for at := 0; at < len(text); {
		found := names.FindStringSubmatchIndex(text[at:])
		if found == nil {
			break
		}
		before, name := unpercent(text[:at+found[2]], text[at+found[2]:at+found[3]])
		between, from := text[at+found[4]:at+found[5]], at+found[1]
		to := from
		if obvious(name) || m.named(name) || m.within(before) {
			to = valueEnd(text, from, strings.Contains(between, "]") && strings.Contains(between, "=>"))
			if strings.HasPrefix(between, "%") {
				to = percentEnd(text, from, to)
			}
		}
		if to == from {
			at += found[3] // the value may be the next one's name
			continue
		}
		out.WriteString(text[kept:from])
		out.WriteString(Hidden)
		kept, at = to, to
	}
	out.WriteString(text[kept:])
	plain := login.ReplaceAllString(out.String(), "$1:"+Hidden+"@")
	return hideNumbers(webToken.ReplaceAllString(plain, Hidden))
}

// unpercent returns a name of a URL as it reads, and what stands before it: of user%5Bname%5D that is name, behind user[.
func unpercent(before, written string) (behind, name string) {
	if !strings.Contains(written, "%") {
		return before, written
	}
	read, err := url.PathUnescape(written)
	if err != nil {
		return before, written // not reached: each percent has its two digits
	}
	read = strings.TrimRightFunc(read, func(r rune) bool { return !inName(r) })
	at := strings.LastIndexFunc(read, func(r rune) bool { return !inName(r) }) + 1
	for at > 0 && at < len(read) && !utf8.RuneStart(read[at]) {
		at++
	}
	if at == 0 {
		return before, read
	}
	return read[:at], read[at:]
}

// inName reports that r may be part of a name, as the expressions have it.
func inName(r rune) bool { return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// percentEnd returns where a value ends that stands behind a sign in percents, such as %3D: at the next %26, if that comes before to.
func percentEnd(text string, from, to int) int {
	if n := strings.Index(text[from:to], "%26"); n >= 0 {
		return from + n
	}
	return to
}

// valueEnd returns where the value that begins at from ends, from itself when there is none: behind what is quoted or in
// brackets, else before the next blank or separator, or where whole lines are values, as print_r writes them, at the line's end.
func valueEnd(text string, from int, line bool) int {
	rest := text[from:]
	if n := strings.IndexFunc(rest, func(r rune) bool { return r != '\\' }); n >= 0 && strings.IndexByte(`"'`, rest[n]) >= 0 {
		return from + quotedEnd(rest, n)
	}
	if at := bracket.FindStringIndex(rest); at != nil {
		return from + at[1] - 1 + nestedEnd(rest[at[1]-1:])
	}
	if rest != "" && strings.IndexByte("{[(", rest[0]) >= 0 {
		return from + nestedEnd(rest)
	}
	if at := scheme.FindStringIndex(rest); at != nil {
		return from + at[1]
	}
	stop := " \t\r\n\v\f\"',;&<>(){}[]"
	if line {
		stop = "\r\n"
	}
	if n := strings.IndexAny(rest, stop); n >= 0 {
		return from + n
	}
	return len(text)
}

// quotedEnd returns where the text ends that begins with a quote behind so many backslashes: behind the same again, or where
// that is missing at the end of all.
func quotedEnd(text string, slashes int) int {
	quote, run := text[slashes], 0
	for i := slashes + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			run++
			continue
		case quote:
			if run == slashes || slashes == 0 && run%2 == 0 {
				return i + 1
			}
		}
		run = 0
	}
	return len(text)
}

// nestedEnd returns where the bracket closes that text begins with, or its end.
func nestedEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		slashes := i
		for i < len(text) && text[i] == '\\' {
			i++
		}
		if i == len(text) {
			break
		}
		switch text[i] {
		case '"', '\'':
			i = slashes + quotedEnd(text[slashes:], i-slashes) - 1
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// named reports that a rule hides fields of that name somewhere, or what is in them.
func (m *Masker) named(name string) bool { return m.matches(name, rule.last) }

// within reports that a name which begins at the end of before is of a field in one whose fields a rule hides, as in
// user[name], user.name and $user->name.
func (m *Masker) within(before string) bool {
	if !m.open {
		return false
	}
	const far = 80 // a name, and what stands between it and the next
	found := parent.FindStringSubmatch(before[max(0, len(before)-far):])
	return found != nil && m.matches(found[1], func(r rule) string {
		if r.open() {
			return r.last()
		}
		return ""
	})
}

// matches reports that one of the rules gives this name.
func (m *Masker) matches(name string, of func(rule) string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(m.rules, func(r rule) bool { return of(r) == name })
}
