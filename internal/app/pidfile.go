package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sidecar/internal/proc"
)

// bootSlack is how much younger than its pid file a process may seem and still be its writer: start times
// are in clock ticks, file times in whatever the file system keeps.
const bootSlack = 2 * time.Second

// pidFile is the file that release scripts read the pid from (CONTRACT 1.6).
type pidFile struct{ path string }

// writePIDFile writes our pid to path. It refuses while another live consumer holds the file, so that the
// legacy consumer's own is not overwritten; a file left by a dead process, or whose pid has become a stranger's, is taken over.
func writePIDFile(path string) (*pidFile, error) {
	if pid, held := holderOf(path); held {
		return nil, fmt.Errorf("pid_file %s: process %d (%s) holds it; stop that one first or name another file", path, pid, commandOf(pid))
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("write pid_file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return nil, errors.Join(fmt.Errorf("write pid_file: %w", err), os.Remove(tmp))
	}
	return &pidFile{path: path}, nil
}

// remove deletes the file if it still names us.
func (f *pidFile) remove() error {
	if pid, err := readPID(f.path); err == nil && pid == os.Getpid() {
		return os.Remove(f.path)
	}
	return nil
}

// holderOf returns the live consumer whose pid stands in the file.
func holderOf(path string) (pid int, held bool) {
	pid, err := readPID(path)
	if err != nil || pid == os.Getpid() || !alive(pid) {
		return 0, false
	}
	st, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	if age, err := ageOf(pid); err == nil && age < time.Since(st.ModTime())-bootSlack {
		return 0, false // the pid was reused after the file was written
	}
	return pid, maybeConsumer(pid)
}

// Find returns the process that the pid file names, and an error when there is none or it is no sidecar: a
// signal must not meet the old consumer, or a stranger with its pid.
func Find(path string) (pid int, err error) {
	pid, err = readPID(path)
	if err != nil {
		return 0, fmt.Errorf("pid_file %s: %w", path, err)
	}
	if pid == os.Getpid() || !alive(pid) {
		return 0, fmt.Errorf("pid_file %s: no process %d runs", path, pid)
	}
	if !isSidecar(pid) {
		return 0, fmt.Errorf("pid_file %s: process %d (%s) is no sidecar", path, pid, commandOf(pid))
	}
	return pid, nil
}

// isSidecar reports whether pid runs our program, or one called so where that cannot be read.
func isSidecar(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return strings.HasPrefix(commandOf(pid), "sidecar")
	}
	own, _ := os.Executable()
	return exe == own || strings.HasPrefix(filepath.Base(exe), "sidecar")
}

// maybeConsumer reports whether pid could be a consumer: a PHP process or a sidecar.
// A process whose program cannot be read is given the benefit of the doubt.
func maybeConsumer(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return true
	}
	own, _ := os.Executable()
	name := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	return exe == own || strings.HasPrefix(name, "php") || strings.HasPrefix(name, "sidecar")
}

func readPID(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err == nil && pid <= 0 {
		err = fmt.Errorf("pid %d", pid)
	}
	return pid, err
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// ageOf returns for how long pid has been running.
func ageOf(pid int) (time.Duration, error) {
	stat, err := proc.Read(pid)
	if err != nil {
		return 0, err
	}
	return stat.Age()
}

func commandOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
