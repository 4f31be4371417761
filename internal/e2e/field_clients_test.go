package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// The tests here are cases from the field (docs/field-cases.md) in which Redis does not let everybody in.

// C109: the ACL rule of the documentation is enough for everything a job can come to.
func TestTheDocumentedACLRuleIsEnough(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "redis-user.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^ACL SETUSER sidecar (.+)$`).FindAllStringSubmatch(string(doc), -1)
	if len(rules) != 2 {
		t.Fatalf("%d rules in the documentation, want the least one and the one with everything", len(rules))
	}
	for i, rule := range rules {
		r := newRig(t, 2)
		args := []any{"ACL", "SETUSER", "sidecar", "reset"}
		for word := range strings.FieldsSeq(strings.ReplaceAll(rule[1], "<password>", "pw")) {
			args = append(args, word)
		}
		if err := r.rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", rule[0], err)
		}
		config := r.through(fmt.Sprintf("url = \"redis://sidecar:pw@%s\"", r.redis.Addr), "retry = [\"50ms\"]\nmax_crashes = 1\nlease = \"3s\"\nidempotency = \"on\"")
		r.push("no job")
		r.push(`{"uuid":"dies","die":true}`)
		r.push(`{"uuid":"slow","sleep_ms":2500}`)
		r.produce(20, 100, 2, 0)
		p := r.start(config)
		eventually(t, 30*time.Second, func() error {
			if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != 2 {
				return fmt.Errorf("keys hold %+v, want 2 dead and nothing else", d)
			}
			return nil
		})
		r.wantOneRunEach(21)
		if n := p.count("NOPERM"); i == 1 && n != 0 {
			t.Errorf("%d log lines tell of missing rights, want none", n)
		}
		for _, args := range [][]string{{"status"}, {"replay", topic}, {"push", topic, `{"uuid":"pushed"}`}} {
			cmd := exec.Command(binary, append(args, "-c", config)...)
			cmd.Dir = t.TempDir() // where undo files go
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
	}
}

// C108: logins that are refused are tried patiently, by sixteen topics together, and with no more sockets than ever.
func TestRefusedLoginsAreNoStorm(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx := context.Background()
	p := r.start(r.config("", r.otherTopics(15)))
	eventually(t, 10*time.Second, func() error {
		if p.count("redis tells of changes") != 1 {
			return fmt.Errorf("not started yet")
		}
		return nil
	})
	admin := r.redis.Client().Conn() // logged in before there is a password
	defer func() { _ = admin.Close() }()
	for _, args := range [][]any{{"CONFIG", "SET", "requirepass", "right"}, {"CLIENT", "KILL", "SKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "pubsub"}} {
		if err := admin.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before, most := received(t, admin), 0
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		most = max(most, sockets(t, p))
	}
	tried := received(t, admin) - before
	t.Logf("%d logins in 4 s, %d sockets at most", tried, most)
	if tried == 0 || tried > 1000 || most > 40 {
		t.Errorf("%d logins in 4 s and %d sockets, want few", tried, most)
	}
	p.wantNotReady("NOAUTH", 5*time.Second)
	if err := admin.ConfigSet(ctx, "requirepass", "").Err(); err != nil {
		t.Fatal(err)
	}
	r.push(`{"uuid":"after"}`)
	r.wantEmpty(15 * time.Second)
}

// C108: a Redis that has no room for another client is waited for, and two places are enough.
func TestARedisFullOfClientsIsWaitedFor(t *testing.T) {
	t.Parallel()
	const most = 20
	r := newRigOn(t, testenv.FPMOptions{Children: 2}, testenv.Redis(t, fmt.Sprint("maxclients ", most)))
	r.produce(20, 0, 2, 0)
	r.depths() // opens the rig's own connection
	var others []net.Conn
	for range most { // more than fit: the last ones are refused
		conn, err := net.Dial("tcp", r.redis.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		others = append(others, conn)
	}
	p := r.start(r.config("", `retry = ["100ms"]`+r.otherTopics(15)))
	p.wantNotReady("redis: ", 10*time.Second)
	if n := sockets(t, p); n > 40 {
		t.Errorf("%d sockets", n)
	}
	for _, conn := range others[:2] {
		_ = conn.Close()
	}
	r.wantEmpty(30 * time.Second)
	r.wantOneRunEach(20)
	if n := r.retried(); n != 10 {
		t.Errorf("%d runs had a try counted, want the 10 that failed once", n)
	}
	if n := p.count("level=WARN") + p.count("level=ERROR"); n > 100 { // one each, not one a try
		t.Errorf("%d warnings and errors", n)
	}
}

// otherTopics are so many tables of topics that have no jobs.
func (r *rig) otherTopics(n int) string {
	var tables strings.Builder
	for i := range n {
		fmt.Fprintf(&tables, "\n[topic.other%d]\nscript = %q\n", i, filepath.Join(r.dir, r.script))
	}
	return tables.String()
}

// received returns how many connections Redis has taken so far.
func received(t *testing.T, admin *redis.Conn) int {
	t.Helper()
	info, err := admin.Info(context.Background(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	_, after, _ := strings.Cut(info, "total_connections_received:")
	if _, err := fmt.Sscan(after, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// sockets counts the sidecar's.
func sockets(t *testing.T, p *instance) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
