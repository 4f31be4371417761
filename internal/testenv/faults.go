package testenv

import (
	"strings"
	"testing"
)

// WantFaults fails unless err holds one line for each beginning in want, in order, and says what is wanted.
func WantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if len(got) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) || !strings.Contains(got[i], "want ") {
			t.Errorf("got %q, want %q and what is wanted", got[i], want[i])
		}
	}
}
