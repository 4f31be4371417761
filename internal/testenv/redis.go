package testenv

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// startTimeout is how long a private server may take until it answers: long, for a busy machine.
const startTimeout = 20 * time.Second

// RedisServer is a private redis-server in a directory of its own. It ends with the test.
type RedisServer struct {
	Addr   string // host:port
	Socket string // path of its unix socket
	Dir    string // its working directory, where AOF and RDB go

	t      testing.TB
	args   []string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the running server has been waited for
	output bytes.Buffer  // read only after exited is closed
}

// Redis starts a redis-server on a free port and a unix socket and waits until it answers. Each option
// is one line of redis.conf, as in Redis(t, "maxmemory 10mb", "appendonly yes").
func Redis(t testing.TB, options ...string) *RedisServer {
	t.Helper()
	return start(t, nil, append([]string{`save ""`, "appendonly no"}, options...)...)
}

// start writes the lines into a redis.conf, starts a server on it and ends that with the test.
func start(t testing.TB, args []string, lines ...string) *RedisServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // not t.TempDir: a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &RedisServer{
		Addr:   FreeAddr(t),
		Socket: filepath.Join(dir, "s"),
		Dir:    dir,
		t:      t,
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	lines = append([]string{"bind 127.0.0.1", "port " + port, "unixsocket " + s.Socket, "dir " + dir}, lines...)
	conf := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "redis.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = append([]string{filepath.Join(dir, "redis.conf")}, args...)
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Sentinel starts a Sentinel that watches master under the given name. It alone is the quorum.
func Sentinel(t testing.TB, master *RedisServer, name string) *RedisServer {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	return start(t, []string{"--sentinel"}, fmt.Sprintf("sentinel monitor %s %s %s 1", name, host, port))
}

// URL returns the server's address as the sidecar's configuration spells it.
func (s *RedisServer) URL() string { return "redis://" + s.Addr + "/0" }

// Client returns a client of the test's own, which is closed with the test. It repeats nothing.
func (s *RedisServer) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{
		Network:                  "unix",
		Addr:                     s.Socket,
		MaxRetries:               -1,
		DialerRetries:            1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Pid returns the server's process id.
func (s *RedisServer) Pid() int { return s.cmd.Process.Pid }

// Start starts the server again after Stop or Kill, at the same address and on the same files.
func (s *RedisServer) Start() {
	s.t.Helper()
	s.output.Reset()
	s.cmd = exec.Command("redis-server", s.args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	// The server dies with the tests, even if they are killed. That signal follows the thread which
	// forked, so this one is kept until the server has ended.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.exited = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait()
		}
		close(s.exited)
	}()
	if err := <-started; err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	s.waitReady()
}

// waitReady returns when the server answers PING, or PING only needs a password.
func (s *RedisServer) waitReady() {
	s.t.Helper()
	Poll(s.t, startTimeout, "redis-server to answer", func() bool {
		select {
		case <-s.exited:
			s.t.Fatalf("redis-server ended at its start: %s", s.output.String())
		default:
		}
		conn, err := net.DialTimeout("unix", s.Socket, time.Second)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return false
		}
		reply := make([]byte, 64)
		n, _ := conn.Read(reply)
		return bytes.HasPrefix(reply[:n], []byte("+PONG")) || bytes.HasPrefix(reply[:n], []byte("-NOAUTH"))
	})
}

// Stop ends the server as an operator would, so that its files are complete.
func (s *RedisServer) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once, as a crash would. It may be called twice.
func (s *RedisServer) Kill() { s.end(syscall.SIGKILL) }

// Restart stops the server and starts it again.
func (s *RedisServer) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Pause stops the server from running, as a network that swallows everything would look; the
// function it returns lets it go on.
func (s *RedisServer) Pause() (resume func()) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	return func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
}

func (s *RedisServer) end(sig syscall.Signal) {
	select {
	case <-s.exited:
		return
	default:
	}
	_ = s.cmd.Process.Signal(sig)
	<-s.exited
}

// Used returns the bytes the server's data takes now, for a maxmemory just above it.
func (s *RedisServer) Used(ctx context.Context) int64 {
	s.t.Helper()
	info, err := s.Client().InfoMap(ctx, "memory").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	used, err := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return used
}
