package encoding

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"sidecar/compat"
)

var errNotUTF8 = errors.New("invalid UTF-8, which JSON cannot hold")

// writeJSON writes text as phpredis's json serializer does: json_encode with characters beyond ASCII escaped, and the
// angle brackets as well, for phpredis hands it a flag that means JSON_HEX_TAG there.
func writeJSON(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errNotUTF8
	}
	quoted := string(compat.AppendPHPString(make([]byte, 0, len(text)+len(text)/4+2), text))
	out := make([]byte, 0, len(quoted)+len(quoted)/8)
	for _, r := range quoted {
		switch {
		case r == '<' || r == '>':
			out = fmt.Appendf(out, `\u%04X`, r)
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
	}
	return string(out), nil
}

// readJSON reads a JSON string. A JSON object is no business of this serializer: it is plain.
func readJSON(data string) (string, error) {
	if data == "" || data[0] != '"' {
		return "", errUnknown
	}
	text, err := compat.ParsePHPString(data)
	if err != nil {
		return "", fmt.Errorf("JSON in a JSON string, damaged: %w", err)
	}
	return text, nil
}
