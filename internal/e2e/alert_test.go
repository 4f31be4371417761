package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/queue"
)

// inbox is a receiver of messages in the generic form.
type inbox struct {
	*httptest.Server

	mu   sync.Mutex
	told []string // guarded by mu: "state rule subject"
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			Alarms []struct{ State, Rule, Subject string }
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, a := range m.Alarms {
			in.told = append(in.told, strings.TrimSpace(a.State+" "+a.Rule+" "+a.Subject))
		}
	}))
	t.Cleanup(in.Close)
	return in
}

// all returns what was told so far, sorted.
func (in *inbox) all() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Sorted(slices.Values(in.told))
}

func (in *inbox) wants(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		if got := in.all(); !slices.Equal(got, want) {
			return fmt.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

// Two sidecars, one of them killed and replaced, say each thing once; that Redis is away each says by itself.
func TestAlarmsAreToldOnceByAllSidecarsOfOneRedis(t *testing.T) {
	t.Parallel()
	r := newLastingRig(t, 2)
	in := newInbox(t)
	url := r.write("hook-url", in.URL+"/not-to-be-seen\n")
	if err := os.Chmod(url, 0o600); err != nil {
		t.Fatal(err)
	}
	config := r.config("", "")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	alarms := fmt.Sprintf(`
[alert]
every = "1s"
builtin = false
[alert.target.hook]
kind = "json"
url_file = %q
rate = 600
[alert.rule.dead]
dead = 2
for = "0s"
recover_after = "0s"
[alert.rule.away]
redis_away = true
for = "1s"
recover_after = "0s"
`, url)
	r.write(filepath.Base(config), string(text)+alarms)
	first, second := r.start(config), r.start(config)
	first.wantReady(10 * time.Second)
	second.wantReady(10 * time.Second)

	for range 3 {
		if err := r.rdb.RPush(t.Context(), "delay:dead:"+topic, `{"job":{"uuid":"a"},"error":"x","trace":"","at":"2026-11-30 12:00:00"}`).Err(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"firing dead " + topic}
	in.wants(t, want...)
	r.wantWrittenDown("hook")
	first.kill()
	third := r.start(config)
	third.wantReady(10 * time.Second)
	eventually(t, 20*time.Second, func() error {
		if n := third.metric(`sidecar_alerts_firing{rule="dead"}`); n != 1 {
			return fmt.Errorf("the new one sees %v alarms", n)
		}
		return nil
	})
	in.wants(t, want...)
	if err := r.rdb.Del(t.Context(), "delay:dead:"+topic).Err(); err != nil {
		t.Fatal(err)
	}
	want = append(want, "recovered dead "+topic)
	in.wants(t, want...)
	r.wantWrittenDown("hook")

	r.redis.Kill()
	in.wants(t, append([]string{"firing away", "firing away"}, want...)...)
	r.redis.Start()
	in.wants(t, "firing away", "firing away", want[0], "recovered away", "recovered away", want[1])
	for _, p := range []*instance{second, third} {
		if strings.Contains(strings.Join(p.lines(), "\n"), "not-to-be-seen") {
			t.Error("the log shows the address")
		}
	}
}

// wantWrittenDown waits until whoever has told the target something has written that down: others wait for 30 s for one that
// is killed before.
func (r *rig) wantWrittenDown(target string) {
	r.t.Helper()
	eventually(r.t, 10*time.Second, func() error {
		text, err := r.rdb.HGet(r.t.Context(), string(queue.AlertTargets), target).Result()
		if err != nil {
			return err
		}
		var known queue.AlertTarget
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return err
		}
		if known.By != "" || known.LastSent.IsZero() {
			return fmt.Errorf("the target is known as %s, want that it was told and nobody is at it", text)
		}
		return nil
	})
}
