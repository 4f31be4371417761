package compat_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestOnlyPlainUUIDsAreShownAsTheyAre(t *testing.T) {
	hash := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	long := strings.Repeat("a", 129)
	tests := map[string]struct{ text, want string }{
		"a uuid":       {`{"uuid":"0b9c1f6e-4f1d-4d38-9f0e-1b2a3c4d5e6f"}`, "0b9c1f6e-4f1d-4d38-9f0e-1b2a3c4d5e6f"},
		"a number":     {`{"uuid":42}`, "42"},
		"none":         {`{"order":1}`, ""},
		"128 of them":  {`{"uuid":"` + long[1:] + `"}`, long[1:]},
		"129 of them":  {`{"uuid":"` + long + `"}`, hash(long)},
		"a line break": {`{"uuid":"a\nb"}`, hash("a\nb")},
		"Chinese":      {`{"uuid":"订单"}`, hash("订单")},
		"a space":      {`{"uuid":"a b"}`, hash("a b")},
	}
	for name, tt := range tests {
		if got := parse(t, tt.text).PlainUUID(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
