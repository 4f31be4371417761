package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckPlace reports why no undo file can be written into dir; nil where one can.
func CheckPlace(dir string) error {
	probe, err := os.CreateTemp(dir, ".sidecar-undo-")
	if err != nil {
		return cause(err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return fmt.Errorf("what was written cannot be removed: %w", cause(err))
	}
	return nil
}

// MakePlace makes dir, for its owner alone, where it is not there, and reports why no undo file can be written into it.
func MakePlace(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cause(err)
	}
	return CheckPlace(dir)
}

// Find returns where the undo file name is: a bare name that is not in the directory we are in is the one in usual, if it is there.
// Where it is nowhere, name comes back as it is, for who opens it to say so.
func Find(name, usual string) string {
	if filepath.Base(name) != name {
		return name
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return name
	}
	there := filepath.Join(usual, name)
	if _, err := os.Lstat(there); errors.Is(err, fs.ErrNotExist) {
		return name
	}
	return there // also one that this user may not see: the error then names it whole
}

// cause is err without the path: whoever asks has just named it.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}

// giveAway gives a file that root has made to whose directory it is in: the sidecar, which reads it for whoever looks at the
// dashboard, is hardly ever root.
func giveAway(file *os.File, dir string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(dir)
	if err != nil {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(owner.Uid), int(owner.Gid)) // it serves root as it is
	}
}
