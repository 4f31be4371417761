// Package shell writes command lines that a person can copy.
package shell

import "strings"

// plain are the letters, beside those of the alphabet and digits, that mean themselves to every shell.
const plain = "_-./:=@%+,"

// Word is text as a shell takes it for one word.
func Word(text string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(plain, r)
	}
	if text != "" && strings.IndexFunc(text, odd) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
