package doctor_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sidecar/internal/doctor"
)

const page = "../../docs/doctor.md"

// The page lists every finding, and none that there is not. UPDATE_PAGE=1 writes its table anew.
func TestThePageListsEveryFindingAsTheDoctorTellsIt(t *testing.T) {
	want := table()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- findings -->\n", "<!-- /findings -->"
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s: want the table between %q and %q", page, begin, end)
	}
	if got == want {
		return
	}
	if os.Getenv("UPDATE_PAGE") == "" {
		t.Fatalf("%s differs from the catalogue; UPDATE_PAGE=1 go test ./internal/doctor writes it anew", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func table() string {
	var b strings.Builder
	b.WriteString("| id | usually | why it matters | what to do | planted |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range doctor.Catalogue() {
		mark := ""
		if slices.Contains(planted, k.ID) {
			mark = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.ID, k.Level, cell(k.Why), cell(k.Do), mark)
	}
	return b.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func TestFindingsHaveNamesThatLastAndSayWhatToDo(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, k := range doctor.Catalogue() {
		if !name.MatchString(k.ID) || seen[k.ID] {
			t.Errorf("%q: want a name of its own, in small letters and dashes", k.ID)
		}
		seen[k.ID] = true
		if k.Level < doctor.Note || k.Level > doctor.Fault || k.Why == "" || k.Do == "" {
			t.Errorf("%s: want a level, a reason and a remedy: %+v", k.ID, k)
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d findings, want them all", len(seen))
	}
}
