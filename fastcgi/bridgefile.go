package fastcgi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	phpclient "sidecar/php-client"
)

// bridgeFile is the bridge, or another PHP file of ours, on disk, where FPM can read it and only its owner can change it.
type bridgeFile struct {
	text   []byte
	dir    string // as this host sees it
	chroot string
	path   string // as FPM sees it
	given  bool   // bridge_path: deployed by somebody else, never written
}

func newBridgeFile(o PoolOptions) bridgeFile {
	if o.BridgePath != "" {
		return bridgeFile{dir: o.BridgeDir, chroot: o.Chroot, path: o.BridgePath, given: true}
	}
	return newOwnFile(o, "bridge", phpclient.Bridge)
}

// newOwnFile is a file that is written by us. It is named by its content, so that a new binary never runs an old one and
// opcache never has a stale one.
func newOwnFile(o PoolOptions, name string, text []byte) bridgeFile {
	sum := sha256.Sum256(text)
	b := bridgeFile{text: text, dir: o.BridgeDir, chroot: o.Chroot}
	b.path, _ = b.seenByFPM(name + "-" + hex.EncodeToString(sum[:8]) + ".php")
	return b
}

// seenByFPM returns the path that FPM has for a file in dir; false where its chroot hides it.
func (b bridgeFile) seenByFPM(name string) (string, bool) {
	path := filepath.Join(b.dir, name)
	if b.chroot == "" {
		return path, true
	}
	inside, ok := strings.CutPrefix(path, strings.TrimSuffix(b.chroot, "/"))
	return inside, ok && strings.HasPrefix(inside, "/")
}

// ensure writes the bridge unless it is there, by its size. It is called before every run: cleaners of /run and /tmp
// come by night, and a full disk cuts files short.
func (b bridgeFile) ensure() error {
	if b.given {
		return nil
	}
	if stat, err := os.Lstat(b.host()); err == nil && b.whole(stat) {
		return nil
	}
	return b.install()
}

// whole reports that a file can be the bridge, as far as that shows without reading it.
func (b bridgeFile) whole(stat fs.FileInfo) bool {
	return stat.Mode().IsRegular() && stat.Mode().Perm()&0o444 == 0o444 && stat.Size() == int64(len(b.text))
}

// install puts the bridge in its place, also over one whose content is not what its name says.
func (b bridgeFile) install() error {
	if b.given {
		return nil
	}
	if _, ok := b.seenByFPM(""); !ok {
		return fmt.Errorf("bridge_dir = %q lies outside chroot = %q, where FPM cannot read it: set bridge_dir to a directory below the chroot", b.dir, b.chroot)
	}
	if err := b.makeDir(); err != nil {
		return err
	}
	if stat, err := os.Lstat(b.host()); err == nil && b.whole(stat) {
		if text, err := os.ReadFile(b.host()); err == nil && bytes.Equal(text, b.text) {
			return nil
		}
	}
	if err := writeFile(b.host(), b.text); err != nil {
		return fmt.Errorf("bridge_dir = %q: write %s: %w", b.dir, filepath.Base(b.path), err)
	}
	return nil
}

// host is the bridge's path as this host sees it.
func (b bridgeFile) host() string { return filepath.Join(b.chroot, b.path) }

// makeDir creates dir, and refuses one where others could put code of theirs: FPM would run it as its user.
func (b bridgeFile) makeDir() error {
	if !exists(b.dir) {
		if err := errors.Join(os.MkdirAll(b.dir, 0o755), os.Chmod(b.dir, 0o755)); err != nil { // a umask must not shut FPM out
			return fmt.Errorf("bridge_dir = %q: %w: set bridge_dir to a directory that the sidecar may write and FPM may read", b.dir, err)
		}
	}
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		return fmt.Errorf("bridge_dir = %q: %w", b.dir, err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if err := onlyTrustedWrite(at, at == dir); err != nil {
			return fmt.Errorf("bridge_dir = %q: %w", b.dir, err)
		}
		if at == "/" {
			return nil
		}
	}
}

// onlyTrustedWrite makes sure that nobody but root and this user can put something into dir, or, further up, move
// away what leads to it: there the sticky bit is enough.
func onlyTrustedWrite(dir string, last bool) error {
	stat, err := os.Stat(dir)
	if err != nil {
		return err
	}
	open := stat.Mode().Perm()&0o022 != 0
	if !stat.IsDir() || open && (last || stat.Mode()&fs.ModeSticky == 0) {
		return fmt.Errorf("%s has mode %s: want a directory that group and others cannot write, or they could run code as FPM's user", dir, stat.Mode())
	}
	if own, ok := stat.Sys().(*syscall.Stat_t); ok && last && own.Uid != 0 && int(own.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d and this is uid %d: want a directory of root's or the sidecar's own, or sudo -u '#%d' before the command", dir, own.Uid, os.Geteuid(), own.Uid)
	}
	return nil
}

// writeFile puts text at path in one step: a reader sees all of it or nothing.
func writeFile(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".bridge-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already after the rename
	_, werr := temp.Write(text)
	err = errors.Join(werr, temp.Chmod(0o644), temp.Sync(), temp.Close()) // CreateTemp's 0600 would shut FPM out
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// exists reports that path is there, whatever it is.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
