package fastcgi

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sidecar/internal/proc"
	"sidecar/internal/testenv"
)

// bystander starts a process that has nothing to do with any run.
func bystander(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// connected returns a connection to a listener of this process.
func connected(t *testing.T, network, address string) net.Conn {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	return c
}

// A pid comes from PHP code: only the child at the other end of the connection is ever killed.
func TestOnlyTheRunsOwnChildIsKilled(t *testing.T) {
	old := bystander(t)
	testenv.Poll(t, 5*time.Second, "a child older than a run of 50 ms", func() bool {
		stat, err := proc.Read(old.Process.Pid)
		return err == nil && !youngerThan(200*time.Millisecond, stat)
	})
	unix := connected(t, "unix", filepath.Join(t.TempDir(), "s.sock"))
	tcp := connected(t, "tcp", "127.0.0.1:0")

	for name, tt := range map[string]struct {
		pid  int
		age  time.Duration
		conn net.Conn
	}{
		"no pid":                           {0, time.Second, unix},
		"init":                             {1, time.Second, unix},
		"every process there is":           {-1, time.Second, unix},
		"younger than the run":             {old.Process.Pid, time.Hour, unix},
		"does not hold the tcp connection": {old.Process.Pid, 50 * time.Millisecond, tcp},
	} {
		t.Run(name, func(t *testing.T) {
			if err := killChild(tt.pid, tt.age, tt.conn); !errors.Is(err, errNotOurs) {
				t.Errorf("got %v, want %v", err, errNotOurs)
			}
		})
	}
	// The listener's own child is what a child of FPM would be.
	if err := killChild(old.Process.Pid, 50*time.Millisecond, unix); err != nil {
		t.Errorf("the listener's child: %v", err)
	}
	if err := old.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if err := killChild(old.Process.Pid, 50*time.Millisecond, unix); err == nil {
		t.Error("killed once more")
	}
}
