package testenv

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fpmBinary is the php-fpm the tests run against.
const fpmBinary = "/usr/sbin/php-fpm8.2"

// FPMUser is who FPM's children run as where the tests run as root: a user with no rights of ours.
const FPMUser = "nobody"

// FPMOptions say how a private php-fpm is set up. The zero value is a static pool of two children on a
// unix socket, with PHP's built-in settings.
type FPMOptions struct {
	Children     int    // pm.max_children; 0 is 2
	PM           string // static, dynamic, ondemand; "" is static
	MaxRequests  int    // pm.max_requests
	TCP          bool   // listen on 127.0.0.1 instead of a unix socket
	Backlog      int    // listen.backlog; 0 is FPM's own
	Status       bool   // pm.status_path = /status
	StatusListen bool   // pm.status_listen on a unix socket of its own
	Chroot       string // chroot; needs root

	OutputBuffering int
	DisplayErrors   bool
	Opcache         bool
	OpenBasedir     string

	ProcessControlTimeout   time.Duration
	RequestTerminateTimeout time.Duration

	Ini  []string // further lines of php.ini
	Pool []string // further lines of the pool's section
}

// FPM is a private php-fpm with its configuration, sockets and scripts in a directory of its own.
type FPM struct {
	Dir          string // everything of this FPM; readable by its children, writable by the tests only
	Listen       string // as in sidecar.toml: unix:///… or tcp://…
	StatusListen string // the address of pm.status_listen with its path, "" without

	tb   testing.TB
	opts FPMOptions
	cmd  *exec.Cmd
	done chan struct{} // closed when the master has ended
}

// StartFPM starts a php-fpm for one test and stops it at the test's end. The test is skipped where no php-fpm is installed.
func StartFPM(tb testing.TB, opts FPMOptions) *FPM {
	tb.Helper()
	if _, err := os.Stat(fpmBinary); err != nil {
		tb.Skipf("no php-fpm: %v", err)
	}
	dir, err := os.MkdirTemp("", "sidecar-fpm-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // MkdirTemp's 0700 would shut the children out
		tb.Fatal(err)
	}
	if opts.Children == 0 {
		opts.Children = 2
	}
	f := &FPM{Dir: dir, Listen: "unix://" + filepath.Join(dir, "fpm.sock"), tb: tb, opts: opts}
	if opts.TCP {
		f.Listen = "tcp://" + FreeAddr(tb)
	}
	if opts.StatusListen {
		f.StatusListen = "unix://" + filepath.Join(dir, "status.sock") + "?path=/status"
	}
	f.write("php.ini", f.ini())
	f.write("fpm.conf", f.conf())
	tb.Cleanup(f.Stop)
	f.Start()
	return f
}

// Start starts the master, after Stop or Kill too, and waits until it answers.
func (f *FPM) Start() {
	f.tb.Helper()
	args := []string{"--nodaemonize", "--fpm-config", filepath.Join(f.Dir, "fpm.conf"), "-c", filepath.Join(f.Dir, "php.ini")}
	if os.Geteuid() == 0 && f.opts.Pool != nil && slices.Contains(f.opts.Pool, "user = root") {
		args = append(args, "--allow-to-run-as-root")
	}
	cmd := exec.Command(fpmBinary, args...)
	cmd.Env = append(os.Environ(), "PHP_INI_SCAN_DIR=") // the machine's own settings stay out
	// The master dies with the tests, even if they are killed, and its children with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 200 * time.Millisecond // what a script has started holds them, too
	done, err := StartChild(cmd)
	if err != nil {
		f.tb.Fatal(err)
	}
	f.cmd, f.done = cmd, done
	Poll(f.tb, 10*time.Second, "php-fpm to listen", func() bool {
		select {
		case <-done:
			f.tb.Fatalf("php-fpm ended at its start: %s\n%s", said.String(), f.Log())
		default:
		}
		network, address, _ := strings.Cut(f.Listen, "://")
		conn, err := net.Dial(network, address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// Stop ends the master and its children at once. A second call does nothing.
func (f *FPM) Stop() {
	if f.cmd == nil {
		return
	}
	again := time.NewTicker(250 * time.Millisecond) // a master that just starts anew may miss the first
	defer again.Stop()
	given := time.After(10 * time.Second)
	for ended := false; !ended; {
		f.signal(syscall.SIGTERM)
		select {
		case <-f.done:
			ended = true
		case <-given:
			ended = true
		case <-again.C:
		}
	}
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // whoever outlived the master
	<-f.done
	f.cmd = nil
}

// Reload makes the master start anew with its configuration read again (SIGUSR2).
func (f *FPM) Reload() { f.signal(syscall.SIGUSR2) }

// KillMaster kills the master and leaves its children orphaned.
func (f *FPM) KillMaster() { f.signal(syscall.SIGKILL); <-f.done }

// Pause stops the master from doing anything; its children go on. Resume ends it.
func (f *FPM) Pause() { f.signal(syscall.SIGSTOP) }

// Resume lets a paused master go on.
func (f *FPM) Resume() { f.signal(syscall.SIGCONT) }

// PID is the master's.
func (f *FPM) PID() int { return f.cmd.Process.Pid }

// Children returns the pids of the master's children.
func (f *FPM) Children() []int { return ChildrenOf(f.PID()) }

// Log returns FPM's error log.
func (f *FPM) Log() string {
	text, _ := os.ReadFile(filepath.Join(f.Dir, "fpm.log"))
	return string(text)
}

// Script writes a PHP file, readable by the children, and returns its path.
func (f *FPM) Script(name, code string) string {
	f.tb.Helper()
	path := filepath.Join(f.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.tb.Fatal(err)
	}
	f.write(name, code)
	return path
}

// Handler copies testdata/handlers/<name>.php to where the children can read it and returns its path.
func (f *FPM) Handler(name string) string {
	f.tb.Helper()
	code, err := os.ReadFile(filepath.Join(moduleDir(f.tb), "testdata", "handlers", name+".php"))
	if err != nil {
		f.tb.Fatal(err)
	}
	return f.Script(filepath.Join("handlers", name+".php"), string(code))
}

// Shared returns a directory in which the children may create files, for handlers that leave marks.
func (f *FPM) Shared() string {
	f.tb.Helper()
	dir := filepath.Join(f.Dir, "shared")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		f.tb.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		f.tb.Fatal(err)
	}
	return dir
}

func (f *FPM) write(name, text string) {
	f.tb.Helper()
	if err := os.WriteFile(filepath.Join(f.Dir, name), []byte(text), 0o644); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *FPM) signal(s syscall.Signal) {
	if f.cmd != nil {
		_ = f.cmd.Process.Signal(s) // it may have ended already
	}
}

// moduleDir is the directory of go.mod, above the test's own.
func moduleDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	tb.Fatal("no go.mod above the test")
	return ""
}
