package cli

import (
	"strings"
	"testing"
)

func TestATableStandsStraightWithWideCharacters(t *testing.T) {
	t.Parallel()
	var tab table
	tab.heads("TOPIC", "DEAD", "HELD")
	for _, name := range []string{"订单超时", "mail", "ｆｕｌｌ", "cafe\u0301", "한국어", "😀"} {
		tab.row(field{text: name}, field{text: "1"}, field{text: "-"})
	}
	var out strings.Builder
	tab.print(&out, 0)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	at := func(line, mark string) int {
		before, _, found := strings.Cut(line, mark)
		if !found {
			t.Fatalf("no %q in %q", mark, line)
		}
		return columns(before)
	}
	want := at(lines[0], "DEAD")
	for _, line := range lines[1:] {
		if got := at(line, " 1 ") + 1; got != want {
			t.Errorf("the second column begins at %d, want %d: %s", got, want, line)
		}
	}
}

func TestALineIsCutWhereItsColumnsEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"abcdef": "abcd", "订单超时": "订单", "a订单": "a订", "cafe\u0301s": "cafe\u0301", "": ""} {
		if got := first(text, 4); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

func TestALineListsSoManyNames(t *testing.T) {
	t.Parallel()
	names := strings.Split(strings.Repeat("t,", 21)+"t", ",")
	if got := listed(names); !strings.HasSuffix(got, ", t and 2 others") || strings.Count(got, "t,") != 19 {
		t.Errorf("got %s", got)
	}
	if got := listed(names[:2]); got != "t, t" {
		t.Errorf("got %s", got)
	}
}
