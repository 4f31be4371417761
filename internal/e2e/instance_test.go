package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// instance is a running sidecar.
type instance struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // read after done

	mu    sync.Mutex
	log   []string // guarded by mu
	admin string   // guarded by mu: host:port once it is known
}

// start runs the binary with the configuration until the test ends.
func (r *rig) start(config string) *instance {
	r.t.Helper()
	return r.startCommand(exec.Command(binary, "run", "-c", config))
}

// startLimited is start with no more than that many file descriptors.
func (r *rig) startLimited(config string, descriptors int) *instance {
	r.t.Helper()
	return r.startCommand(exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" run -c "$1"`, descriptors), binary, config))
}

func (r *rig) startCommand(cmd *exec.Cmd) *instance {
	r.t.Helper()
	p := &instance{t: r.t, cmd: cmd, done: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		p.readLog(stderr)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		for _, line := range p.lines() {
			if containsSecret(line) {
				r.t.Errorf("the log holds a secret or a payload: %s", line)
			}
		}
		if r.t.Failed() {
			r.t.Logf("the sidecar's log:\n%s", strings.Join(p.lines(), "\n"))
		}
	})
	return p
}

var adminAddr = regexp.MustCompile(`msg="admin listening" addr=(\S+)`)

func (p *instance) readLog(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		if m := adminAddr.FindStringSubmatch(lines.Text()); m != nil {
			p.admin = m[1]
		}
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
	}
}

func (p *instance) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// count returns how many log lines hold the text.
func (p *instance) count(text string) int {
	n := 0
	for _, line := range p.lines() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (p *instance) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// reload hangs up, and waits until the log tells of that many reloads.
func (p *instance) reload(want int) {
	p.t.Helper()
	p.signal(syscall.SIGHUP)
	eventually(p.t, 5*time.Second, func() error {
		if got := p.count("msg=reloaded"); got != want {
			return fmt.Errorf("%d reloads in the log, want %d", got, want)
		}
		return nil
	})
}

// kill ends it as a power cut would.
func (p *instance) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// wantExit waits for its end, which takes as long as within on a machine of one's own, and compares the exit code.
func (p *instance) wantExit(code int, within time.Duration) {
	p.t.Helper()
	within *= testenv.Slack
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("still running after %s, want exit %d", within, code)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d (%v), want %d", got, p.err, code)
	}
}

// get asks the admin side and returns the status and the body.
func (p *instance) get(path string) (int, string, error) {
	p.mu.Lock()
	addr := p.admin
	p.mu.Unlock()
	if addr == "" {
		return 0, "", fmt.Errorf("the admin address is not known yet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// metric returns the value of a metric without labels.
func (p *instance) metric(name string) float64 {
	p.t.Helper()
	_, body, err := p.get("/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return v
		}
	}
	p.t.Fatalf("no metric %s", name)
	return 0
}

// wantMetric waits until a metric has that value: what is settled in Redis is counted a moment later.
func (p *instance) wantMetric(name string, want float64) {
	p.t.Helper()
	eventually(p.t, 5*time.Second, func() error {
		if got := p.metric(name); got != want {
			return fmt.Errorf("%s is %v, want %v", name, got, want)
		}
		return nil
	})
}

// wantLogged waits until so many log lines hold the text: what is settled in Redis is told a moment later.
func (p *instance) wantLogged(text string, want int) {
	p.t.Helper()
	eventually(p.t, 5*time.Second, func() error {
		if got := p.count(text); got != want {
			return fmt.Errorf("%d log lines hold %s, want %d", got, text, want)
		}
		return nil
	})
}

// wantReady waits until /readyz answers 200.
func (p *instance) wantReady(within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, func() error {
		code, body, err := p.get("/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("readyz: %d %s", code, body)
		}
		return err
	})
}

// wantNotReady waits until /readyz answers 503 with a reason that holds the text.
func (p *instance) wantNotReady(reason string, within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, func() error {
		code, body, err := p.get("/readyz")
		if err != nil {
			return err
		}
		var probe struct{ Reasons []string }
		if err := json.Unmarshal([]byte(body), &probe); err != nil {
			return err
		}
		if code != http.StatusServiceUnavailable || !strings.Contains(strings.Join(probe.Reasons, "\n"), reason) {
			return fmt.Errorf("readyz: %d %s, want 503 with %q", code, body, reason)
		}
		return nil
	})
}

// address is where its admin server listens, "" while that is not known.
func (p *instance) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.admin
}
