package mask

import (
	"regexp"
	"strings"
)

// wordOfID is what stands together in an id.
var wordOfID = regexp.MustCompile(`\+?[\p{L}\p{N}]+`)

// ID returns an id without the numbers of people: those that stand by themselves in it, as in order_13812345678. It hides no more: among a
// UUID's digits some would always look like one, and then two could not be told apart.
func ID(id string) string {
	return wordOfID.ReplaceAllStringFunc(id, func(word string) string {
		digits := strings.TrimRight(strings.TrimPrefix(word, "+"), "xX")
		if strings.Trim(digits, "0123456789") == "" && personal(strings.ToUpper(word)) {
			return Hidden
		}
		return word
	})
}
