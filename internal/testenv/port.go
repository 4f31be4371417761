package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// FreeAddr returns an address on this machine where nobody listens, and that no other test is given before this one ends: a
// server binds a moment after it was told where, and one that is stopped for a while comes back there. Its port is below those
// that Linux gives to connections: one of these may be taken by the time that somebody listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := 10_000 + rand.IntN(22_000)
		if !reserve(t, port) {
			continue
		}
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port below 32000")
	return ""
}

// setLock is Linux's F_OFD_SETLK: such locks are an open file's, not a process's, so that they hold within one, too.
const setLock = 37

// reserve keeps a port from the tests of all packages, which run side by side, until t ends. Each port is a byte of one file,
// and kept by a lock on it, which ends with its process at the latest.
func reserve(t testing.TB, port int) bool {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "sidecar-test-ports"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return true // it is another user's: then there is luck only
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1}
	if err := syscall.FcntlFlock(f.Fd(), setLock, &lock); err != nil {
		_ = f.Close()
		return false
	}
	t.Cleanup(func() { _ = f.Close() })
	return true
}
