package compat_test

import (
	"encoding/json"
	"testing"

	"sidecar/compat"
)

func TestATextReadsAsItsLettersAndStaysTheSameJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		`"\u8ba2\u5355 <b>x<\/b> \u003ci\u003e"`: `"订单 <b>x</b> <i>"`,
		`"\ud83d\ude00 \u00e9"`:                  `"😀 é"`,
		`"\u0022\u005c\n\t\\u8ba2\""`:            `"\u0022\u005c\n\t\\u8ba2\""`,
		`"\u202e\u2028\u0000\u200b\ufeff"`:       `"\u202e\u2028\u0000\u200b\ufeff"`, // not seen, or turns the line around
		`"\ud83d\u8ba2"`:                         `"\ud83d订"`,                        // half a pair
	} {
		got := compat.Readable(text)
		if got != want {
			t.Errorf("%s reads as %s, want %s", text, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || before != nil && after == nil {
			t.Errorf("%s is no JSON as %s", text, got)
		}
	}
	for _, text := range []string{`\`, `\u`, `\u12`, `x\`, `\u12zz`, ``, `\ud83d\u`} { // no JSON: as it stands
		if got := compat.Readable(text); got != text {
			t.Errorf("%s reads as %s", text, got)
		}
	}
}
