// Package deploy_test holds the files that bring the sidecar onto a machine to what they promise.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/internal/config"
)

func TestInstallPutsEverythingUnderDestdir(t *testing.T) {
	root, dest := release(t), t.TempDir()
	install(t, root, dest, "install")

	for path, mode := range map[string]os.FileMode{
		"/opt/sc/bin/sidecar":                 0o755,
		"/etc/sidecar/sidecar.toml":           0o644,
		"/etc/systemd/system/sidecar.service": 0o644,
	} {
		found, err := os.Stat(dest + path)
		if err != nil {
			t.Error(err)
		} else if found.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", path, found.Mode().Perm(), mode)
		}
	}
}

func TestInstallWritesThePrefixIntoTheUnit(t *testing.T) {
	root, dest := release(t), t.TempDir()
	install(t, root, dest, "install")

	unit := read(t, dest+"/etc/systemd/system/sidecar.service")
	if strings.Contains(unit, "/usr/local/bin") {
		t.Error("the unit still names /usr/local/bin")
	}
	if want := "ExecStart=/opt/sc/bin/sidecar run -c /etc/sidecar/sidecar.toml\n"; !strings.Contains(unit, want) {
		t.Errorf("the unit has no line %q", want)
	}
}

func TestInstallKeepsAnEditedConfiguration(t *testing.T) {
	root, dest := release(t), t.TempDir()
	install(t, root, dest, "install")
	edited := filepath.Join(dest, "etc/sidecar/sidecar.toml")
	write(t, edited, "grace = \"5s\"\n", 0o600)

	install(t, root, dest, "install")

	if got := read(t, edited); got != "grace = \"5s\"\n" {
		t.Errorf("the edited configuration is now %q", got)
	}
	if got := read(t, edited+".example"); got != read(t, root+"/sidecar.toml") {
		t.Errorf("the example beside it is %q", got)
	}
}

func TestUninstallLeavesOnlyTheConfiguration(t *testing.T) {
	root, dest := release(t), t.TempDir()
	install(t, root, dest, "install")
	install(t, root, dest, "uninstall")

	var left []string
	err := filepath.Walk(dest, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			left = append(left, strings.TrimPrefix(path, dest))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(left, " "); got != "/etc/sidecar/sidecar.toml" {
		t.Errorf("left over: %q, want the configuration alone", got)
	}
}

// CONTRACT 1.6: release scripts kill after 30 s, so a stop must have ended by then, and the supervisors wait as long.
func TestSupervisorsWaitLongerThanGrace(t *testing.T) {
	grace := config.Default().Grace
	for file, pattern := range map[string]string{
		"systemd/sidecar.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"supervisor/sidecar.conf": `(?m)^stopwaitsecs=(\d+)$`,
	} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
		if found == nil {
			t.Errorf("%s does not match %s", file, pattern)
			continue
		}
		seconds, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		if wait := time.Duration(seconds) * time.Second; wait <= grace {
			t.Errorf("%s kills after %s, but jobs in hand have %s", file, wait, grace)
		}
	}
}

// release lays out an unpacked release tarball with a stand-in for the binary.
func release(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"deploy/scripts/install.sh", "deploy/systemd/sidecar.service", "sidecar.toml"} {
		write(t, filepath.Join(root, file), read(t, filepath.Join("..", file)), 0o755)
	}
	write(t, filepath.Join(root, "sidecar"), "#!/bin/sh\n", 0o755)
	return root
}

func install(t *testing.T, root, dest, verb string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "deploy/scripts/install.sh"), verb)
	cmd.Env = append(os.Environ(), "PREFIX=/opt/sc", "DESTDIR="+dest)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", verb, err, out)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
