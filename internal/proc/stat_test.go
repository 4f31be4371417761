package proc_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"sidecar/internal/proc"
)

func TestAChildHasItsParentAndItsAge(t *testing.T) {
	began := time.Now()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	stat, err := proc.Read(cmd.Process.Pid)
	if err != nil || stat.Parent != os.Getpid() {
		t.Fatalf("got parent %d, %v, want %d", stat.Parent, err, os.Getpid())
	}
	const grain = 20 * time.Millisecond // of uptime and of start times: a tick each
	age, err := stat.Age()
	if err != nil || age < -grain || age > time.Since(began)+grain {
		t.Errorf("got age %s, %v, want at most %s", age, err, time.Since(began))
	}
}

func TestAPidThatNobodyHasIsAnError(t *testing.T) {
	if stat, err := proc.Read(0); err == nil {
		t.Errorf("got %+v, want an error", stat)
	}
}
