package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waits.php runs a job when there is a file "go" beside it.
const waitsScript = `<?php
return function (array $job): void {
    while (!file_exists(__DIR__ . '/go')) {
        usleep(20000);
    }
};
`

// One worker, and more jobs than it gets through: all of them wait in ready, which has no times, and whoever looks is told
// how late they are.
func TestJobsThatWaitInReadyAreLateForWhoeverLooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.script = "waits.php"
	r.write(r.script, waitsScript)
	in := newInbox(t)
	url := r.write("hook-url", in.URL+"\n")
	if err := os.Chmod(url, 0o600); err != nil {
		t.Fatal(err)
	}
	config := r.config("", "workers = 1")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Base(config), string(text)+fmt.Sprintf(`
[alert]
every = "1s"
builtin = false
[alert.target.hook]
kind = "json"
url_file = %q
[alert.rule.late]
oldest_due = "2m"
for = "0s"
recover_after = "0s"
`, url))
	for i := range 5 {
		r.pushTo(topic, fmt.Sprint("j", i), -5*time.Minute)
	}
	p := r.start(config)
	p.wantReady(10 * time.Second)
	in.wants(t, "firing late "+topic)
	if d := r.depths(); d.pool != 0 || d.ready != 4 {
		t.Fatalf("%+v, want four jobs in ready", d)
	}
	r.wantOldest(p, config, 300, 400)

	r.write("go", "")
	in.wants(t, "firing late "+topic, "recovered late "+topic)
	r.wantEmpty(10 * time.Second)
	r.wantOldest(p, config, 0, 0)
}

// wantOldest waits until status, the dashboard's values and the metric say for how many seconds the oldest due job of the
// topic has been due.
func (r *rig) wantOldest(p *instance, config string, least, most float64) {
	r.t.Helper()
	type topics struct {
		Topics []struct {
			Oldest float64 `json:"oldest_due_seconds"`
		}
	}
	within := func(who string, got float64) error {
		if got < least || got > most {
			return fmt.Errorf("%s says %v s, want %v to %v", who, got, least, most)
		}
		return nil
	}
	eventually(r.t, 25*time.Second, func() error { // heartbeats come every ten seconds
		var told, shown topics
		if err := json.Unmarshal([]byte(r.runVerb("status", "-c", config, "--json")), &told); err != nil || len(told.Topics) != 1 {
			return fmt.Errorf("status: %+v, %w", told, err)
		}
		if err := within("status", told.Topics[0].Oldest); err != nil {
			return err
		}
		if err := within("the metric", p.metric(fmt.Sprintf("sidecar_oldest_due_age_seconds{topic=%q}", topic))); err != nil {
			return err
		}
		_, body, err := p.get("/api/v1/overview")
		if err != nil || json.Unmarshal([]byte(body), &shown) != nil || len(shown.Topics) != 1 {
			return fmt.Errorf("the API says %.500s, %w", body, err)
		}
		if err := within("the API", shown.Topics[0].Oldest); err != nil {
			return err
		}
		_, page, err := p.get("/topic?t=" + topic)
		if late := strings.Contains(page, "is too long"); err != nil || late != (least > 0) {
			return fmt.Errorf("the dashboard says that the topic is late: %t (%w)", late, err)
		}
		return nil
	})
}
