package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unixScheme begins an address that is a unix socket's path.
const unixScheme = "unix://"

// Listen listens on address: host:port, or unix:// and a path, where a socket of that mode is made. A socket that a dead
// process has left there is replaced, one that somebody answers is not.
func Listen(ctx context.Context, address string, mode os.FileMode) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, unixScheme)
	if !unix {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if err := stale(ctx, path); err != nil {
		return nil, err
	}
	// Made under another name, so that nobody can connect before the mode is set.
	early := path + "." + strconv.Itoa(os.Getpid())
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", early)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(early, mode), os.Rename(early, path)); err != nil {
		_, _ = ln.Close(), os.Remove(early)
		return nil, err
	}
	made, err := os.Lstat(path)
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	return &socket{Listener: ln, path: path, made: made}, nil
}

// stale returns nil when a socket may be put at path: there is nothing, or a socket that nobody listens on.
func stale(ctx context.Context, path string) error {
	found, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case found.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is no socket (%s): want a path where none but a socket of ours lies", path, found.Mode().Type())
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = c.Close()
		return fmt.Errorf("%s: another process listens there", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	// Who listens may have too much to do, or be another user's.
	return fmt.Errorf("%s: another process may listen there: %w", path, err)
}

// socket is a unix socket's listener that removes what it has made, and nothing that somebody else has put there since.
type socket struct {
	net.Listener
	path string
	made os.FileInfo
}

// Close closes the listener and removes its socket.
func (s *socket) Close() error {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
		_ = os.Remove(s.path)
	}
	return s.Listener.Close()
}
