package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPIDFileNamesUsAndGoesAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.pid")
	f, err := writePIDFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(got)) != strconv.Itoa(os.Getpid()) {
		t.Errorf("file holds %q, %v; want our pid %d", got, err, os.Getpid())
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("stat after remove: %v, want it gone", err)
	}
}

func TestPIDFileThatBecameAnothersIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.pid")
	f, err := writePIDFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writePID(t, path, 1)
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("another's pid file was removed: %v", err)
	}
}

func TestPIDFileOfALiveConsumerIsRefused(t *testing.T) {
	php, err := exec.LookPath("php")
	if err != nil {
		t.Fatal(err)
	}
	legacy := startChild(t, php, "-r", "sleep(60);")
	path := filepath.Join(t.TempDir(), "consumer.pid")
	writePID(t, path, legacy)

	_, err = writePIDFile(path)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(legacy)) {
		t.Errorf("err = %v, want a refusal that names pid %d", err, legacy)
	}
	if got, _ := readPID(path); got != legacy {
		t.Errorf("the file now holds %d, want the legacy consumer's %d", got, legacy)
	}
}

func TestStalePIDFilesAreTakenOver(t *testing.T) {
	stranger := startChild(t, "sleep", "60")
	dead := startChild(t, "true")
	waitUntilDead(t, dead)
	tests := map[string]struct {
		content string
		age     time.Duration
	}{
		"dead process":             {content: strconv.Itoa(dead)},
		"stranger with that pid":   {content: strconv.Itoa(stranger)},
		"not a number":             {content: "hello"},
		"empty":                    {content: ""},
		"negative":                 {content: "-1"},
		"pid reused after a crash": {content: strconv.Itoa(startChild(t, "php", "-r", "sleep(60);")), age: time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sidecar.pid")
			if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
				t.Fatal(err)
			}
			then := time.Now().Add(-tt.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			if _, err := writePIDFile(path); err != nil {
				t.Errorf("err = %v, want the file taken over", err)
			}
		})
	}
}

func TestPIDFileInAMissingDirectorySaysSo(t *testing.T) {
	_, err := writePIDFile(filepath.Join(t.TempDir(), "no", "such.pid"))
	if err == nil || !strings.Contains(err.Error(), "pid_file") {
		t.Errorf("err = %v, want one that names pid_file", err)
	}
}

func writePID(t *testing.T, path string, pid int) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", pid), 0o644); err != nil {
		t.Fatal(err)
	}
}

// startChild starts a process that is killed with the test, and returns its pid once its program runs.
func startChild(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	return cmd.Process.Pid
}

func waitUntilDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d does not die", pid)
		}
		<-time.After(5 * time.Millisecond)
	}
}
