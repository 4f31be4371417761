package plural_test

import (
	"testing"

	"sidecar/internal/plural"
)

func TestOneIsSaidOtherwiseThanAnyOtherNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0 jobs wait", 1: "1 job waits", 2: "2 jobs wait", -1: "-1 jobs wait", 1 << 40: "1099511627776 jobs wait"} {
		if got := plural.Of(n, "job waits", "jobs wait"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
