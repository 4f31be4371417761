package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// setLeastUser gives the user "sidecar" the least rights that docs/redis-user.md names, under a password.
func setLeastUser(t testing.TB, s *testenv.RedisServer, password string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "redis-user.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^ACL SETUSER sidecar on ><password> (.+)$`).FindStringSubmatch(string(page))
	if m == nil {
		t.Fatal("the page shows no user")
	}
	args := []any{"ACL", "SETUSER", "sidecar", "on", ">" + password}
	for word := range strings.FieldsSeq(m[1]) {
		args = append(args, word)
	}
	testenv.Do(t, s, args...)
}

// asLeastUser writes a configuration that logs in as that user.
func (r *rig) asLeastUser() string {
	r.t.Helper()
	const password = "wrong-secret is its name" // no log may show it
	setLeastUser(r.t, r.redis, password)
	file := r.write("redis-password", password)
	if err := os.Chmod(file, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.through(fmt.Sprintf("url = %q\nusername = \"sidecar\"\npassword_file = %q", r.redis.URL(), file), "")
}

// One topic's keys are refused: the others go on, and it goes on as soon as they are granted.
func TestNopermOnOneTopicsKeysDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.asLeastUser()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write("sidecar.toml", string(text)+fmt.Sprintf("\n[topic.other]\nscript = %q\n", filepath.Join(r.dir, r.script)))
	testenv.Do(t, r.redis, "ACL", "SETUSER", "sidecar", "resetkeys", "~delay:*:"+topic)
	add := func(topic, uuid string) {
		t.Helper()
		text := fmt.Sprintf(`{"uuid":%q}`, uuid)
		if err := r.rdb.ZAdd(context.Background(), "delay:pool:"+topic, redis.Z{Score: 1, Member: text}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ran := func(uuid string) {
		t.Helper()
		eventually(t, 20*time.Second, func() error {
			if r.runs("E")[uuid] != 1 {
				return fmt.Errorf("%s has not run once", uuid)
			}
			return nil
		})
	}
	p := r.start(config)
	add("other", "other-1")
	add(topic, "own-1")
	ran("own-1")
	p.wantNotReady("delay:pool:other", 10*time.Second)
	testenv.Do(t, r.redis, "ACL", "SETUSER", "sidecar", "~delay:*:other")
	ran("other-1")
	p.wantReady(10 * time.Second)

	// Taken away while both run.
	testenv.Do(t, r.redis, "ACL", "SETUSER", "sidecar", "resetkeys", "~delay:*:"+topic)
	add("other", "other-2")
	p.wantNotReady(`topic "other"`, 20*time.Second)
	add(topic, "own-2")
	ran("own-2")
	if n := r.runs("S")["other-2"]; n != 0 {
		t.Errorf("other-2 ran %d times without rights on its keys", n)
	}
	testenv.Do(t, r.redis, "ACL", "SETUSER", "sidecar", "~delay:*:other")
	ran("other-2")
	p.wantReady(10 * time.Second)
	r.wantNoRetries()
}
