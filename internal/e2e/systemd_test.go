package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// notifications are what a sidecar has told systemd.
type notifications struct {
	mu   sync.Mutex
	said []string
}

// listenAsSystemd takes notifications until the test ends, and returns them and what the sidecar's environment is to say.
func listenAsSystemd(t *testing.T, watchdog string) (*notifications, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n := &notifications{}
	go func() {
		buf := make([]byte, 4096)
		for {
			size, err := conn.Read(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			n.said = append(n.said, string(buf[:size]))
			n.mu.Unlock()
		}
	}()
	return n, []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=" + watchdog}
}

// count returns how many notifications begin so.
func (n *notifications) count(prefix string) (times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.said {
		if strings.HasPrefix(s, prefix) {
			times++
		}
	}
	return times
}

// systemd would end a sidecar that goes silent; an outage of Redis, frozen or gone, must never be that.
func TestSystemdHearsOfLifeThroughAnOutageOfRedis(t *testing.T) {
	t.Parallel()
	r := newLastingRig(t, 1)
	said, env := listenAsSystemd(t, "600000") // 0.6 s: a sign each 0.2 s
	cmd := exec.Command(binary, "run", "-c", r.config("", ""))
	cmd.Env = append(os.Environ(), env...)
	s := r.startCommand(cmd)
	await := func(what, prefix string, least int) {
		t.Helper()
		testenv.Poll(t, 30*time.Second, what, func() bool { return said.count(prefix) >= least })
	}
	more := func(what string, signs int) {
		t.Helper()
		await(what, "WATCHDOG=1", said.count("WATCHDOG=1")+signs)
	}
	await("the sidecar to be ready", "READY=1", 1)
	more("signs of life", 3)
	resume := r.redis.Pause()
	more("signs of life while Redis is frozen", 6)
	resume()
	r.redis.Kill()
	await("a line that says so", "STATUS=1 topic, 0 jobs in hand; not ready: redis: ", 1)
	more("signs of life while Redis is away", 6)
	s.signal(syscall.SIGTERM)
	s.wantExit(0, 20*time.Second)
	await("a line that says that it stops", "STATUS=stopping: ", 1)
	await("the word that it stops", "STOPPING=1", 1)
	if n := said.count("STOPPING=1"); n != 1 {
		t.Errorf("it said %d times that it stops", n)
	}
}
