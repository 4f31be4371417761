package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// RunWithSidecar builds the sidecar, has binary say where it is, runs the tests and returns TestMain's exit code.
func RunWithSidecar(m *testing.M, binary *string) int {
	dir, err := os.MkdirTemp("", "sidecar-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the worst case it stays
	*binary = filepath.Join(dir, "sidecar")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", *binary, "sidecar") // as make build does
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the sidecar: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
