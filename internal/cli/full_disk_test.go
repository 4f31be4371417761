package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// filesMost is the variable that bounds what the test binary as sidecar may write into a file, as a full disk does.
const filesMost = "SIDECAR_TEST_FILES_MOST"

func limitFiles(most string) {
	bytes, err := strconv.ParseUint(most, 10, 64)
	if err != nil {
		return // no bound is asked for
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}

// onFullDisk runs the verb where no file can hold more than so many bytes, and wants its exit code and all of want in what it says.
func (s shop) onFullDisk(most int, code int, want []string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(shellDir(s.t, "bash"), "sidecar"), append(args, "-c", s.config)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", filesMost, most))
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		s.t.Errorf("%v: %v, want exit %d", args, err, code)
	}
	for _, text := range want {
		if !strings.Contains(string(said), text) {
			s.t.Errorf("%v: want %q in\n%s", args, text, said)
		}
	}
}

// dieAgain fills dead with n jobs, and empties dir.
func (s shop) dieAgain(n int, dir string) {
	s.t.Helper()
	s.do("DEL", timeoutDead)
	for i := range n {
		s.dead(fmt.Sprintf("job-%03d", i), "no money", "2026-11-29 12:00:00")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
	}
}

// What was moved can be taken back, what cannot be taken back was not moved, and the file never says more than that.
func TestAFullDiskMovesNothingThatCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	s, dir := newShop(t), t.TempDir()
	drop := []string{"dead", "drop", "order_timeout", "--all", "--undo-dir", dir}
	s.dieAgain(150, dir)
	s.verb(0, []string{"dropped 150 jobs"}, drop...)
	info, err := os.Stat(undoFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	whole := int(info.Size())

	s.dieAgain(150, dir)
	full := []string{"not moved, since it could not be undone: write to the undo file:", "file too large; --undo-dir names another directory"}
	for _, most := range []int{10, whole / 10} { // not even the first line, not the first batch
		s.onFullDisk(most, 1, append(full, "dropped 0 jobs"), drop...)
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Errorf("%q is left behind", files)
		}
	}
	s.wantDead(150)

	s.onFullDisk(whole*9/10, 1, append(full, "dropped 100 jobs", "not finished, 100 of 150 jobs"), drop...) // the first batch of 100
	s.wantDead(50)
	file := undoFile(t, dir)
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), `{"move"`) != 100 || !strings.HasSuffix(string(text), "\n") {
		t.Errorf("the file has %d moves: %v", strings.Count(string(text), `{"move"`), err)
	}
	s.verb(0, []string{"put back 100 jobs"}, "dead", "undo", file)
	s.wantDead(150)

	s.dieAgain(150, dir)
	s.onFullDisk(whole-10, 1, []string{"dropped 150 jobs", "what became of the last 50 moves is known to redis only"}, drop...)
	s.wantDead(0)
	file = undoFile(t, dir)
	s.onFullDisk(whole/2, 1, []string{"put back 100 jobs", "what is back is known to redis only"}, "dead", "undo", file)
	s.wantDead(100)
	s.verb(0, []string{"put back 50 jobs", "100 jobs needed nothing"}, "dead", "undo", file)
	s.wantDead(150)
}

func (s shop) wantDead(n int) {
	s.t.Helper()
	if got := s.LLen(s.t.Context(), timeoutDead).Val(); got != int64(n) {
		s.t.Errorf("%d jobs are dead, want %d", got, n)
	}
}
