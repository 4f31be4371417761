package faults

import (
	"context"
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// diskFull has the disk that the bridge is written to fill up, and the bridge vanish: no job may start there until
// there is room again. Where nothing can be mounted the sidecars may write no file longer than nothing instead.
func diskFull() kind {
	return kind{
		name: "disk-full", about: "the bridge has vanished, and the disk it is to be written to is full", alone: true, harmless: true,
		prepare: func(s *shop) {
			for _, p := range s.sidecars {
				p.mountBridge()
			}
		},
		strike: fillDisk,
	}
}

// mountBridge puts a small file system where the sidecar writes its bridge, for as long as the test runs.
func (p *sidecar) mountBridge() {
	if err := os.Mkdir(p.bridge, 0o755); err != nil {
		p.s.t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", p.bridge, "tmpfs", 0, "size=256k,mode=0755")
	if err != nil {
		p.s.t.Logf("cannot mount (%v): the sidecar's files are limited instead", err)
		return
	}
	p.mounted = true
	p.s.t.Cleanup(func() { _ = syscall.Unmount(p.bridge, syscall.MNT_DETACH) })
}

func fillDisk(_ context.Context, s *shop) error {
	p := s.any()
	free, err := p.fill()
	if err != nil {
		return err
	}
	defer free()
	met := eventually(readyWithin, func() bool {
		if err = p.loseBridge(); err != nil {
			return true
		}
		code, _, err := p.admin("/readyz")
		return err == nil && code == http.StatusServiceUnavailable
	})
	if !met {
		return errors.New("the sidecar is ready although it has no bridge")
	}
	return err
}

// fill leaves no room for the bridge. free takes that back.
func (p *sidecar) fill() (free func(), err error) {
	if !p.mounted {
		pid := p.cmd.Process.Pid
		old, err := limitFiles(pid, syscall.Rlimit{Cur: 0, Max: math.MaxUint64})
		return func() { _, _ = limitFiles(pid, old) }, err
	}
	return func() { _ = os.Remove(p.filler()) }, nil
}

// loseBridge removes the bridge and takes its room. The sidecar may be quicker, or have written all but the name: so this
// is done until it says that it has none.
func (p *sidecar) loseBridge() error {
	for {
		bridges, err := filepath.Glob(filepath.Join(p.bridge, "*.php"))
		if err != nil || len(bridges) == 0 {
			return err
		}
		for _, path := range bridges {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if err := p.refill(); err != nil {
			return err
		}
	}
}

func (p *sidecar) filler() string { return filepath.Join(p.bridge, "filler") }

// refill takes every byte that is left.
func (p *sidecar) refill() error {
	if !p.mounted {
		return nil
	}
	f, err := os.OpenFile(p.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// limitFiles says how long the files may be that a process writes, and returns how long they might be before.
func limitFiles(pid int, limit syscall.Rlimit) (old syscall.Rlimit, err error) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), uintptr(unsafe.Pointer(&old)), 0, 0)
	if errno != 0 {
		err = errno
	}
	return old, err
}
