package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sidecar/internal/testenv"
)

func TestDoctorSaysInItsExitCodeWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, "appendonly yes", "appendfsync no") // a warning, no fault
	fpm := testenv.StartFPM(t, testenv.FPMOptions{Children: 8})
	path := filepath.Join(t.TempDir(), "sidecar.toml")
	write := func(url string) {
		t.Helper()
		text := fmt.Sprintf("[redis]\nurl = %q\n[fpm.default]\nlisten = %q\nbridge_dir = %q\n[topic.mail]\nscript = %q\n", url, fpm.Listen, filepath.Join(fpm.Dir, "bridge"), fpm.Handler("ok"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(server.URL())
	got := sidecar(t, "", "doctor", "-c", path)
	for _, want := range []string{"WARNING  redis " + server.Addr + " (redis-fsync)\n  found  appendfsync is no\n  why ", "\n  do ", ": 0 faults, "} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit %d, want %q in\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
	if got := sidecar(t, "", "doctor", "mail", "--strict", "-c", path); got.code != 1 {
		t.Errorf("--strict: exit %d, want 1 for a warning", got.code)
	}
	if got := sidecar(t, "", "doctor", "male", "-c", path); got.code != 2 || !strings.Contains(got.stderr, `did you mean "mail"`) {
		t.Errorf("another topic: exit %d, %s", got.code, got.stderr)
	}

	write("redis://" + testenv.FreeAddr(t))
	got = sidecar(t, "", "doctor", "--json", "-c", path)
	var said struct {
		Config   string `json:"config"`
		Faults   int    `json:"faults"`
		Findings []struct {
			ID, Level, Where, Found, Why, Do string
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &said); err != nil {
		t.Fatalf("%v in %s", err, got.stdout)
	}
	wantKeysOfThePage(t, got.stdout)
	first := said.Findings[0]
	if got.code != 1 || said.Faults != 1 || said.Config != path || first.ID != "redis-down" || first.Level != "fault" || first.Do == "" {
		t.Errorf("exit %d, %+v", got.code, said)
	}
}

// wantKeysOfThePage fails unless what doctor prints has the names that docs/commands.md promises.
func wantKeysOfThePage(t *testing.T, printed string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### sidecar doctor\n")
	_, example, _ := strings.Cut(section, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	if got, want := keysOf(t, printed), keysOf(t, example); !slices.Equal(got, want) {
		t.Errorf("its names are %q, on the page %q", got, want)
	}
}

// keysOf returns the names in what doctor prints, with those of the first finding.
func keysOf(t *testing.T, text string) []string {
	t.Helper()
	var all map[string]json.RawMessage
	var findings []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := json.Unmarshal(all["findings"], &findings); err != nil || len(findings) == 0 {
		t.Fatalf("%v in %s", err, text)
	}
	return append(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(findings[0]))...)
}
