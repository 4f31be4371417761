package admin_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sidecar/internal/admin"
)

func TestAUnixSocketHasItsModeAndGoesWithItsListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	for range 2 {
		ln, err := admin.Listen(t.Context(), "unix://"+path, 0o620)
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Lstat(path); err != nil || fi.Mode().Perm() != 0o620 {
			t.Errorf("got %v, %v, want mode 0620", fi, err)
		}
		if _, err := admin.Listen(t.Context(), "unix://"+path, 0o600); err == nil {
			t.Error("a socket that is listened on was replaced")
		}
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestAStaleSocketIsReplacedAndNothingElseIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	ln, err := admin.Listen(t.Context(), "unix://"+path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// Somebody else's socket has taken the place meanwhile.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("what is not ours was removed: %v", err)
	}
	if _, err := admin.Listen(t.Context(), "unix://"+path, 0o600); err == nil {
		t.Error("a file was replaced by a socket")
	}
}

// A process that hangs takes no calls after a while, and lives.
func TestASocketWhoseListenerIsBusyIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		if full = err != nil; !full {
			defer func() { _ = c.Close() }()
		}
	}
	ln, err := admin.Listen(t.Context(), "unix://"+path, 0o600)
	if err == nil {
		_ = ln.Close()
		t.Error("the socket of a process that lives was replaced")
	}
}
