package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// readyWithin is how long a sidecar may take to be ready on a machine that does other things.
const readyWithin = 2 * time.Minute

// sidecar is one of the two of a shop, over all its starts.
type sidecar struct {
	s      *shop
	name   string // "a" or "b": who, in the ledger
	front  string // where it reaches Redis through the proxy, "" without
	bridge string // its bridge_dir
	config string // path of its sidecar.toml
	log    string // path of its log, which is appended to by each start

	redis   string // the lines of [redis]
	mounted bool   // its bridge_dir is a file system of its own
	changes int    // how often its configuration was changed while it ran

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	from int64         // where the log of this start begins
}

func (s *shop) newSidecar(name string) *sidecar {
	s.t.Helper()
	p := &sidecar{
		s: s, name: name, bridge: filepath.Join(s.fpm.Dir, "bridge-"+name),
		config: filepath.Join(s.fpm.Dir, "sidecar-"+name+".toml"), log: filepath.Join(s.fpm.Dir, "sidecar-"+name+".log"),
	}
	p.redis = fmt.Sprintf("url = %q", s.redis.URL())
	if s.proxy != nil {
		p.front = s.proxy.front()
		p.redis = fmt.Sprintf("url = %q", "redis://"+p.front+"/0")
	}
	p.configure()
	s.t.Cleanup(func() {
		if p.cmd != nil {
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
	return p
}

// configure writes the sidecar's configuration.
func (p *sidecar) configure() {
	p.s.t.Helper()
	level := "info"
	if os.Getenv("FAULTS_DEBUG") != "" {
		level = "debug"
	}
	text := fmt.Sprintf(`grace = "5s"
log_level = %q

[admin]
listen = "127.0.0.1:0"

[redis]
%s

[fpm.default]
listen = %q
children = %d
bridge_dir = %q

[defaults]
script = %q
lease = "3s"
timeout = "20s"
retry = ["50ms", "100ms"]
max_crashes = 100
ready_max = %d

[topic.request]
idempotency = "on"

[topic.worker]
mode = "worker"
idle_timeout = "300ms"

[topic.shared]
%s`, level, p.redis, p.s.fpm.Listen, childrenEach, p.bridge, filepath.Join(p.s.dir, "jobs-"+p.name+".php"), 60000+p.changes, listTables)
	if err := os.WriteFile(p.config, []byte(text), 0o644); err != nil {
		p.s.t.Fatal(err)
	}
}

// start runs the sidecar, for the first time or after its end.
func (p *sidecar) start() {
	p.s.t.Helper()
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		p.s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if p.from, err = log.Seek(0, io.SeekEnd); err != nil {
		p.s.t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "-c", p.config)
	cmd.Stdout, cmd.Stderr = log, log
	done, err := testenv.StartChild(cmd)
	if err != nil {
		p.s.t.Fatal(err)
	}
	p.cmd, p.done = cmd, done
}

// kill ends the sidecar as a power cut would.
func (p *sidecar) kill() {
	p.s.t.Helper()
	over := p.s.mark(sidecarKilled, p.name, 0)
	p.signal(syscall.SIGKILL)
	<-p.done
	over()
}

// stop ends the sidecar by TERM, which leaves nothing undone, and reports how it ended.
func (p *sidecar) stop() error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(readyWithin):
		return fmt.Errorf("sidecar %s still runs %s after TERM", p.name, readyWithin)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("sidecar %s ended with %v after TERM, want 0", p.name, p.cmd.ProcessState)
	}
	return nil
}

// freeze has the sidecar stand still until the function it returns is called.
func (p *sidecar) freeze() (cont func()) {
	over := p.s.mark(sidecarFrozen, p.name, 0)
	p.signal(syscall.SIGSTOP)
	return func() {
		p.signal(syscall.SIGCONT)
		over()
	}
}

func (p *sidecar) signal(sig syscall.Signal) {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.s.t.Errorf("%s to sidecar %s: %v", sig, p.name, err)
	}
}

// dump has the sidecar write what each of its goroutines does to its log, and end.
func (p *sidecar) dump() {
	p.signal(syscall.SIGQUIT)
	<-p.done
}

var adminAddr = regexp.MustCompile(`msg="admin listening" addr=(\S+)`)

// admin asks the admin side of the sidecar that runs now.
func (p *sidecar) admin(path string) (int, string, error) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return 0, "", err
	}
	m := adminAddr.FindSubmatch(text[min(p.from, int64(len(text))):])
	if m == nil {
		return 0, "", fmt.Errorf("the admin address of sidecar %s is not known yet", p.name)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + string(m[1]) + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// metrics returns all values of /metrics by their names with labels.
func (p *sidecar) metrics() (map[string]float64, error) {
	_, body, err := p.admin("/metrics")
	if err != nil {
		return nil, err
	}
	values := make(map[string]float64)
	for line := range strings.Lines(body) {
		name, text, ok := cutLast(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(text, 64); ok && err == nil && !strings.HasPrefix(line, "#") {
			values[name] = v
		}
	}
	return values, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// waitReady waits until /readyz says 200.
func (p *sidecar) waitReady() {
	p.s.t.Helper()
	pollReady(p.s.t, p)
}

func pollReady(t testing.TB, p *sidecar) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("readyz of sidecar %s: %s", p.name, last)
		}
	}()
	testenv.Poll(t, readyWithin, "sidecar "+p.name+" to be ready", func() bool {
		code, body, err := p.admin("/readyz")
		last = fmt.Sprint(code, body, err)
		return err == nil && code == http.StatusOK
	})
}

// logged counts the lines of the log, over all starts, that hold the text.
func (p *sidecar) logged(text string) int {
	log, err := os.ReadFile(p.log)
	if err != nil {
		p.s.t.Fatal(err)
	}
	return bytes.Count(log, []byte(text))
}
