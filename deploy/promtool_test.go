package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// promtool runs Prometheus's own checker, which deploy/scripts/deps.sh fetches, in dir.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		tool, err = filepath.Abs("../.cache/promtool/promtool")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(tool); err != nil {
			t.Fatalf("no promtool: run deploy/scripts/deps.sh test (%v)", err)
		}
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}
