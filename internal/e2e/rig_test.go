// Package e2e runs the real binary against a real redis-server, a real php-fpm and real phpredis producers,
// breaks them, and counts every job.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// topic is the one that most tests use.
const topic = "order_timeout"

// binary is the sidecar under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sidecar-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the worst case it stays
	binary = filepath.Join(dir, "sidecar")
	build := exec.Command("go", "build", "-o", binary, "sidecar")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the sidecar: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// rig is one shop: its Redis, its PHP-FPM and the folder its job scripts live in.
type rig struct {
	t        testing.TB
	redis    *testenv.RedisServer
	fpm      *testenv.FPM
	rdb      *redis.Client
	children int // of fpm, all of them for jobs
	dir      string
	redisURL string
	mode     string // the topic's
	script   string // the topic's, in dir; "" for one that configures a call
}

func newRig(t testing.TB, children int) *rig {
	t.Helper()
	return newRigWith(t, testenv.FPMOptions{Children: children}, "appendonly yes", "appendfsync always")
}

// newRigWith is newRig with an FPM and a Redis that are set up so.
func newRigWith(t testing.TB, opts testenv.FPMOptions, conf ...string) *rig {
	t.Helper()
	fpm := testenv.StartFPM(t, opts)
	r := &rig{
		t: t, fpm: fpm, children: opts.Children, dir: fpm.Shared(), mode: "request", script: "record.php",
		redis: testenv.Redis(t, conf...),
	}
	r.rdb, r.redisURL = r.redis.Client(), r.redis.URL()
	r.copyScript("record.php")
	for _, name := range []string{"runs.log", "retried.log"} { // FPM's children are another user
		r.write(name, "")
		if err := os.Chmod(filepath.Join(r.dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) copyScript(name string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(name, string(b))
}

func (r *rig) write(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// config writes a sidecar.toml for one topic; extra is put before, topicExtra into the topic's table.
func (r *rig) config(extra, topicExtra string) string {
	r.t.Helper()
	if r.script != "" {
		topicExtra = fmt.Sprintf("mode = %q\nscript = %q\n%s", r.mode, filepath.Join(r.dir, r.script), topicExtra)
	}
	return r.write("sidecar.toml", fmt.Sprintf(`%s
[admin]
listen = "127.0.0.1:0"

[redis]
url = %q

[fpm.default]
listen = %q
children = %d
bridge_dir = %q

[topic.%s]
%s
`, extra, r.redisURL, r.fpm.Listen, r.children, filepath.Join(r.fpm.Dir, "bridge"), topic, topicExtra))
}

// produce runs the PHP producer and returns the texts it wrote, in order.
func (r *rig) produce(count, spreadMS, failEvery, sleepMS int) []string {
	r.t.Helper()
	cmd := exec.Command("php", "testdata/produce.php", r.redis.Socket, topic,
		fmt.Sprint(count), fmt.Sprint(spreadMS), fmt.Sprint(failEvery), fmt.Sprint(sleepMS))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("produce: %v\n%s%s", err, out, &stderr)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// runs counts the marks of each uuid in the handler's own log: "S" for started, "E" for ended.
func (r *rig) runs(mark string) map[string]int {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "runs.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	counts := make(map[string]int)
	for line := range strings.Lines(string(b)) {
		if uuid, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), mark+" "); ok {
			counts[uuid]++
		}
	}
	return counts
}

// retried returns how many runs had a try counted.
func (r *rig) retried() int {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "retried.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

// depths returns the sizes of the four keys.
func (r *rig) depths() (d struct{ pool, ready, running, dead int64 }) {
	r.t.Helper()
	ctx := context.Background()
	pipe := r.rdb.Pipeline()
	pool, ready := pipe.ZCard(ctx, "delay:pool:"+topic), pipe.LLen(ctx, "delay:ready:"+topic)
	running, dead := pipe.ZCard(ctx, "delay:running:"+topic), pipe.LLen(ctx, "delay:dead:"+topic)
	if _, err := pipe.Exec(ctx); err != nil {
		r.t.Fatal(err)
	}
	d.pool, d.ready, d.running, d.dead = pool.Val(), ready.Val(), running.Val(), dead.Val()
	return d
}

// wantEmpty waits until all four keys are empty.
func (r *rig) wantEmpty(within time.Duration) {
	r.t.Helper()
	eventually(r.t, within, func() error {
		if d := r.depths(); d.pool+d.ready+d.running+d.dead != 0 {
			return fmt.Errorf("keys hold %+v, want all empty", d)
		}
		return nil
	})
}

// process is a running sidecar.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // read after done

	mu    sync.Mutex
	log   []string // guarded by mu
	admin string   // guarded by mu: host:port once it is known
}

// start runs the binary with the configuration until the test ends.
func (r *rig) start(config string) *process {
	r.t.Helper()
	return r.startCommand(exec.Command(binary, "run", "-c", config))
}

// startLimited is start with no more than that many file descriptors.
func (r *rig) startLimited(config string, descriptors int) *process {
	r.t.Helper()
	return r.startCommand(exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" run -c "$1"`, descriptors), binary, config))
}

func (r *rig) startCommand(cmd *exec.Cmd) *process {
	r.t.Helper()
	p := &process{t: r.t, cmd: cmd, done: make(chan struct{})}
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

func (p *process) readLog(r io.Reader) {
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

func (p *process) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// count returns how many log lines hold the text.
func (p *process) count(text string) int {
	n := 0
	for _, line := range p.lines() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends it as a power cut would.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.done
}

// wantExit waits for its end and compares the exit code.
func (p *process) wantExit(code int, within time.Duration) {
	p.t.Helper()
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
func (p *process) get(path string) (int, string, error) {
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
func (p *process) metric(name string) float64 {
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

// wantReady waits until /readyz answers 200.
func (p *process) wantReady(within time.Duration) {
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
func (p *process) wantNotReady(reason string, within time.Duration) {
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

// eventually polls check until it returns nil, and fails the test with its last error after within.
func eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", within, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// containsSecret reports whether a text that people read holds a password or a job's payload.
func containsSecret(text string) bool {
	return strings.Contains(text, "wrong-secret") || strings.Contains(text, "超时关单")
}
