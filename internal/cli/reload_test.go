package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestReloadSignalsNobodyButASidecar(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = stranger.Wait(); close(ended) }()
	t.Cleanup(func() { _ = stranger.Process.Kill(); <-ended })

	tests := map[string]struct{ content, want string }{
		"no such file":  {"", "no such file"},
		"no number":     {"soon", "soon"},
		"dead process":  {"999999999", "no process 999999999 runs"},
		"a stranger's":  {fmt.Sprint(stranger.Process.Pid), "(sleep) is no sidecar"},
		"our own":       {fmt.Sprint(os.Getpid()), "no process"},
		"not a process": {"-1", "pid -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "sidecar.pid")
			if tt.content != "" {
				if err := os.WriteFile(pidFile, []byte(tt.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config := writeConfig(t, fmt.Sprintf("pid_file = %q\n", pidFile)+minimal)
			got := sidecar(t, "", "reload", "-c", config)
			if got.code != 1 || !strings.Contains(got.stderr, tt.want) || got.stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 1 and %q", got.code, got.stdout, got.stderr, tt.want)
			}
		})
	}
	select {
	case <-ended:
		t.Error("the stranger was signalled")
	default:
	}
}

func TestReloadWithoutAPIDFileSaysWhatElseToDo(t *testing.T) {
	got := sidecar(t, "", "reload", "-c", writeConfig(t, minimal))
	if got.code != 1 || !strings.Contains(got.stderr, "pid_file") || !strings.Contains(got.stderr, "HUP") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
}

func TestReloadDoesNotAskForAFileThatDoesNotHold(t *testing.T) {
	got := sidecar(t, "", "reload", "-c", writeConfig(t, minimal+"leese = 3\n"))
	if got.code != 2 || !strings.Contains(got.stderr, "leese") {
		t.Errorf("exit %d, stderr %q; want 2 and the wrong key", got.code, got.stderr)
	}
}
