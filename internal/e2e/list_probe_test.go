package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What monitoring asked the old worker's probe it asks the sidecar, and gets the same JSON and the same 503.
func TestTheLegacyProbeAnswersForTheConfiguredLists(t *testing.T) {
	t.Parallel()
	r := newListRig(t, 2)
	r.lpush(deadKey, "a", "b")
	r.lpush(smsKey, smsJobs("j", 7, `"wait":"go"`)...)
	sharded := "queue:prod:mail"
	r.lpush(sharded+"_1", smsJobs("m", 3, `"wait":"go"`)...)
	p := r.start(r.listConfig(r.list("send_sms", smsKey, "workers = 1"), r.list("mail", sharded, "shards = 2\nworkers = 1")))
	r.wantRuns("S", 2, 20*time.Second) // one of each: the others are seen waiting
	for query, want := range map[string]string{
		smsKey:     `{"queue_length":6,"dead_letter_length":2,"redis_latency_ms":`,
		"send_sms": `{"queue_length":6,"dead_letter_length":2,"redis_latency_ms":`,
		sharded:    `{"queue_length":2,"dead_letter_length":2,"redis_latency_ms":`,
	} {
		eventually(t, 10*time.Second, func() error {
			code, body, err := p.get("/probe?queue=" + query)
			if err == nil && (code != http.StatusOK || !strings.HasPrefix(body, want)) {
				err = fmt.Errorf("%s: got %d %s, want 200 %s…", query, code, body, want)
			}
			return err
		})
	}
	code, body, err := p.get("/probe?queue=" + deadKey)
	if err != nil || code != http.StatusNotFound || !strings.Contains(body, "want one of mail, queue:prod:mail, queue:prod:send_sms, send_sms") {
		t.Errorf("a key that is no list's: got %d %s (%v), want 404 and the names there are", code, body, err)
	}

	resume := r.redis.Pause()
	began := time.Now()
	code, body, err = p.get("/probe?queue=" + smsKey)
	if took := time.Since(began); err != nil || code != http.StatusServiceUnavailable || took > 5*time.Second { // what its client would wait for
		t.Errorf("with Redis stopped: got %d %s (%v) after %s, want 503 soon", code, body, err, took)
	}
	var fault struct{ Status, Reason string }
	if err := json.Unmarshal([]byte(body), &fault); err != nil || fault.Status != "unhealthy" || !strings.HasPrefix(fault.Reason, "redis slow or down") {
		t.Errorf("with Redis stopped: got %s (%v)", body, err)
	}
	resume()
	eventually(t, 20*time.Second, func() error {
		code, body, err := p.get("/probe?queue=" + smsKey)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("got %d %s", code, body)
		}
		return err
	})
	r.write("go", "")
	r.wantRuns("E", 10, 20*time.Second)
}
