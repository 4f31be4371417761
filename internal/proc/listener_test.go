package proc_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"sidecar/internal/proc"
)

func TestWhoListensOnAPortIsFound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if pid, err := proc.Listener(port); err != nil || pid != os.Getpid() {
		t.Errorf("got %d, %v, want %d", pid, err, os.Getpid())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, err := proc.Listener(port); !errors.Is(err, proc.ErrNoListener) {
		t.Errorf("got %d, %v after the end", pid, err)
	}
	if command, err := proc.Command(os.Getpid()); err != nil || !strings.HasPrefix(command, os.Args[0]) {
		t.Errorf("got %q, %v, want %q", command, err, os.Args[0])
	}
}
