package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestTheLegacyProbeSumsTheShards(t *testing.T) {
	server := testenv.Redis(t)
	rdb := server.Client()
	for _, command := range [][]any{
		{"LPUSH", "shop:queue:prod:mail_0", "a", "b", "c"},
		{"LPUSH", "shop:queue:prod:mail_2", "d"},
		{"LPUSH", "shop:queue:prod:mail", "of before there were shards"},
		{"LPUSH", "shop:queue:prod:dead_letter", "e", "f"},
	} {
		if err := rdb.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	side := sideOf(queue.NewStore(rdb, "shop:", mailList(3)))
	var got struct {
		QueueLength      int64 `json:"queue_length"`
		DeadLetterLength int64 `json:"dead_letter_length"`
		RedisLatencyMS   int64 `json:"redis_latency_ms"`
	}
	code, body := askOf(t, side, "/probe?queue=mail")
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if code != http.StatusOK || got.QueueLength != 5 || got.DeadLetterLength != 2 {
		t.Errorf("got %d %s, want 5 jobs and 2 dead ones", code, body)
	}
}

// mailList is the options of queue:prod:mail.
func mailList(shards int) queue.Options {
	opts, list := queue.DefaultOptions(), queue.DefaultListOptions()
	list.Key, list.Dead, list.Shards = "queue:prod:mail", "queue:prod:dead_letter", shards
	opts.Topic, opts.List = "mail", &list
	return opts
}

func TestTheLegacyProbeIsUnhealthyWhileRedisIsStoppedOrDownOrWrong(t *testing.T) {
	server := testenv.Redis(t)
	rdb := server.Client()
	side := sideOf(queue.NewStore(rdb, "", mailList(0)))
	want := func(code int, says string) {
		t.Helper()
		testenv.Poll(t, 10*time.Second, says, func() bool {
			got, body := askOf(t, side, "/probe?queue=mail")
			if got != http.StatusOK && strings.Contains(body, "queue_length") {
				t.Errorf("got %d %s: what is not known is not told", got, body)
			}
			return got == code && strings.Contains(body, says)
		})
	}
	want(http.StatusOK, `"queue_length":0`)

	resume := server.Pause()
	began := time.Now()
	code, body := askOf(t, side, "/probe?queue=mail")
	if took := time.Since(began); code != http.StatusServiceUnavailable || took > 5*time.Second { // what its client would wait for
		t.Errorf("got %d %s after %s from a stopped Redis", code, body, took)
	}
	resume()
	want(http.StatusOK, `"queue_length":0`)

	server.Stop()
	want(http.StatusServiceUnavailable, `"reason":"redis slow or down: `)
	server.Start()
	want(http.StatusOK, `"queue_length":0`)

	if err := rdb.Set(t.Context(), "queue:prod:mail", "no list", 0).Err(); err != nil {
		t.Fatal(err)
	}
	want(http.StatusServiceUnavailable, "WRONGTYPE")
}
