package queue

import (
	"regexp"
	"strings"

	"sidecar/compat"
)

var (
	// numbered is a word with a digit in it: a number, an id, a date, an address. Only ASCII: other scripts do not put
	// spaces around their words.
	numbered = regexp.MustCompile(`[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*`)
	// joined are several of them that belong together, such as an IP address or a time.
	joined = regexp.MustCompile(`#(?:[.:,/]#)+`)
)

// classMost is how many characters of an error tell its class.
const classMost = 160

// ErrorClass returns what is the same in errors that differ by the job alone: the first line, with each word that has a
// digit in it as "#". What many jobs in a row have in common is nobody's secret, and no phone number. The class of a
// class is itself.
func ErrorClass(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(compat.Cut(text, 4*classMost)), "\n")
	line = joined.ReplaceAllString(numbered.ReplaceAllString(line, "#"), "#")
	return plain(strings.Join(strings.Fields(line), " "), classMost)
}
