// Package e2e runs the real binary against a real redis-server, a real php-fpm and real phpredis producers,
// breaks them, and counts every job.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// topic is the one that most tests use.
const topic = "order_timeout"

// binary is the sidecar under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) { os.Exit(testenv.RunWithSidecar(m, &binary)) }

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
	log      runLog
}

func newRig(t testing.TB, children int) *rig {
	t.Helper()
	return newRigWith(t, testenv.FPMOptions{Children: children})
}

// newLastingRig is a shop whose Redis forgets nothing, for tests that end it. It waits for its disk at every write.
func newLastingRig(t testing.TB, children int) *rig {
	t.Helper()
	return newRigWith(t, testenv.FPMOptions{Children: children}, "appendonly yes", "appendfsync always")
}

// newRigWith is newRig with an FPM and a Redis that are set up so.
func newRigWith(t testing.TB, opts testenv.FPMOptions, conf ...string) *rig {
	t.Helper()
	return newRigOn(t, opts, testenv.Redis(t, conf...))
}

func newRigOn(t testing.TB, opts testenv.FPMOptions, server *testenv.RedisServer) *rig {
	t.Helper()
	fpm := testenv.StartFPM(t, opts)
	r := &rig{
		t: t, fpm: fpm, children: opts.Children, dir: fpm.Shared(), mode: "request", script: "record.php",
		redis: server,
	}
	r.rdb, r.redisURL = r.redis.Client(), r.redis.URL()
	r.log = runLog{path: filepath.Join(r.dir, "runs.log"), marks: make(map[string]*marks)}
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
	return r.write("sidecar.toml", extra+r.servers()+fmt.Sprintf("[topic.%s]\n%s\n", topic, topicExtra))
}

// servers are the tables of a sidecar.toml that say where the rig's Redis and PHP-FPM are.
func (r *rig) servers() string {
	return fmt.Sprintf(`
[admin]
listen = "127.0.0.1:0"

[redis]
url = %q

[fpm.default]
listen = %q
children = %d
bridge_dir = %q

`, r.redisURL, r.fpm.Listen, r.children, filepath.Join(r.fpm.Dir, "bridge"))
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

// ofPulse says whether a key holds how the sidecars do and what they did, and no job. They write them a second after their
// start, and as minutes end.
func ofPulse(prefix, key string) bool {
	return key == prefix+"sidecar:alive" || strings.HasPrefix(key, prefix+"sidecar:minutes:")
}

// eventually polls check until it returns nil, and fails the test with its last error when that takes longer than within on a
// machine of one's own would allow.
func eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	within *= testenv.Slack
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
