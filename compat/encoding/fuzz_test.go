package encoding_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

// Whatever the bytes, nothing panics and nothing larger than the limit comes out; and a job comes back from every form.
func FuzzDecode(f *testing.F) {
	for _, group := range []string{"encodings", "values"} {
		for _, v := range vectors(f, group) {
			if len(v["stored"]) < 2000 {
				f.Add(v["stored"])
			}
		}
	}
	for _, v := range vectors(f, "texts") {
		f.Add(v["text"])
	}
	all := forms(f)
	f.Fuzz(func(t *testing.T, stored string) {
		const small = 4096
		text, form, err := encoding.Decode(stored, small)
		switch {
		case err != nil:
			if text != "" || form != (encoding.Form{}) || !errors.Is(err, compat.ErrNotObject) {
				t.Fatalf("an error and a text: %q, %s, %v", text, form, err)
			}
			if strings.Contains(err.Error(), `encoding = "auto"`) {
				t.Fatalf("advises what has been done: %v", err)
			}
			text = stored
		case form == encoding.Form{}:
			if text != stored {
				t.Fatalf("plain, and %q became %q", stored, text)
			}
		case len(text) > small:
			t.Fatalf("%d bytes in %s, above the limit", len(text), form)
		}
		if _, err := compat.ParseJob(text); err != nil {
			return // only jobs are promised to come back
		}
		for name, form := range all {
			stored, err := form.Encode(text)
			if err != nil {
				if utf8.ValidString(text) {
					t.Fatalf("%s: %v", name, err)
				}
				continue
			}
			back, got, err := encoding.Decode(stored, 1<<20)
			if got == (encoding.Form{}) && err == nil {
				back = strings.TrimSpace(back) // short LZF that is JSON behind a tab or a newline as well: the same job
				text = strings.TrimSpace(text)
			}
			if back != text || err != nil {
				t.Fatalf("%q in %s is %q and comes back as %q, %s, %v", text, name, stored, back, got, err)
			}
		}
	})
}
