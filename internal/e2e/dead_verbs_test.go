package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// morgue is a topic with nothing but dead jobs, and nobody who runs any.
type morgue struct {
	t      *testing.T
	rdb    *redis.Client
	config string
	undo   string // directory of undo files
	uuids  []string
}

// newMorgue fills dead with n jobs.
func newMorgue(t *testing.T, n int) *morgue {
	t.Helper()
	server := testenv.Redis(t)
	m := &morgue{t: t, rdb: server.Client(), undo: t.TempDir()}
	r := &rig{t: t, dir: t.TempDir()}
	m.config = r.write("sidecar.toml", fmt.Sprintf(`
[redis]
url = %q

[fpm.default]
listen = "unix:///nonexistent.sock"
children = 1

[topic.order_timeout]
script = "/srv/a.php"
`, server.URL()))
	pipe := m.rdb.Pipeline()
	for i := range n {
		uuid := fmt.Sprintf("job-%06d", i)
		m.uuids = append(m.uuids, uuid)
		pipe.RPush(t.Context(), "delay:dead:"+topic, fmt.Sprintf(`{"job":{"uuid":%q,"retry":6},"error":"no money","trace":"","at":"2026-10-30 12:00:00"}`, uuid))
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// command is sidecar with the arguments, on the morgue's configuration.
func (m *morgue) command(args ...string) *exec.Cmd {
	return exec.Command(binary, append(args, "-c", m.config)...)
}

// verb runs sidecar to its end and wants its exit code.
func (m *morgue) verb(code int, args ...string) string {
	m.t.Helper()
	cmd := m.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		m.t.Fatalf("%q: %v, want exit %d\n%s", args, err, code, out)
	}
	return string(out)
}

// stopMidway starts sidecar, sends it sig when half of the jobs have left dead, and returns what it said.
func (m *morgue) stopMidway(sig syscall.Signal, args ...string) string {
	m.t.Helper()
	cmd := m.command(append(args, "--undo-dir", m.undo)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	testenv.Poll(m.t, 5*time.Minute, "half of the jobs to leave dead", func() bool { return m.dead() <= len(m.uuids)/2 })
	_ = cmd.Process.Signal(sig)
	err := cmd.Wait()
	if left := m.dead(); left == 0 {
		m.t.Errorf("%q was through before it was stopped", args)
	}
	var exit *exec.ExitError
	if sig == syscall.SIGINT && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		m.t.Errorf("%q: %v, want exit 1", args, err)
	}
	return said.String()
}

func (m *morgue) dead() int { return int(m.rdb.LLen(m.t.Context(), "delay:dead:"+topic).Val()) }

// undoAll takes back what all undo files say, and wants as many jobs back as there are.
func (m *morgue) undoAll(files int) {
	m.t.Helper()
	found, err := filepath.Glob(filepath.Join(m.undo, "*.jsonl"))
	if err != nil || len(found) != files {
		m.t.Fatalf("undo files %q, %v; want %d", found, err, files)
	}
	for _, file := range append(found, found...) { // a second time does nothing
		m.verb(0, "dead", "undo", file)
	}
}

// wantIn fails unless the jobs in dead and in the pool are those, each once.
func (m *morgue) wantIn(dead, pool []string) {
	m.t.Helper()
	for key, want := range map[string][]string{"delay:dead:" + topic: dead, "delay:pool:" + topic: pool} {
		texts := m.rdb.LRange(m.t.Context(), key, 0, -1).Val()
		if strings.Contains(key, "pool") {
			texts = m.rdb.ZRange(m.t.Context(), key, 0, -1).Val()
		}
		got := make([]string, len(texts))
		for i, text := range texts {
			_, behind, _ := strings.Cut(text, `"uuid":"`)
			got[i], _, _ = strings.Cut(behind, `"`)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			m.t.Errorf("%s holds %d jobs, want %d, each once: %.200q", key, len(got), len(want), got)
		}
	}
}

// Ten thousand at full length, at 500 a second: then it takes a minute.
func TestAKilledReplayGoesOnAndIsUndone(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, min(10_000, 1000*scale()))
	rate := fmt.Sprintf("%d/s", max(500, 2000/scale()))
	m.stopMidway(syscall.SIGKILL, "dead", "replay", topic, "--limit", "0", "--rate", rate)
	m.verb(0, "dead", "replay", topic, "--limit", "0", "--undo-dir", m.undo)
	m.wantIn([]string{}, m.uuids)
	m.undoAll(2)
	m.wantIn(m.uuids, []string{})
}

func TestAKilledDropGoesOnAndIsUndone(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, min(10_000, 1000*scale()))
	m.stopMidway(syscall.SIGKILL, "dead", "drop", topic, "--error", "money", "--rate", fmt.Sprintf("%d/s", max(500, 2000/scale())))
	m.verb(0, "dead", "drop", topic, "--all", "--undo-dir", m.undo)
	m.wantIn([]string{}, []string{})
	m.undoAll(2)
	m.wantIn(m.uuids, []string{})
}

func TestAnInterruptedReplayEndsWithItsBatch(t *testing.T) {
	t.Parallel()
	m := newMorgue(t, 200)
	said := m.stopMidway(syscall.SIGINT, "dead", "replay", topic, "--limit", "0", "--rate", "200/s")
	moved := len(m.uuids) - m.dead()
	for _, want := range []string{fmt.Sprintf("replayed %d jobs\n", moved), "not finished", "run it again"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	if n := m.rdb.ZCard(t.Context(), "delay:pool:"+topic).Val(); int(n) != moved {
		t.Errorf("%d jobs are in the pool, want %d", n, moved)
	}
}
