package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"sidecar/internal/testenv"
)

// A Redis at maxmemory answers every question and refuses every producer.
func TestAFullRedisIsAnAlarmAndOthersAreWrittenDown(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	inbox := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Alarms []struct{ State, Rule string }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, a := range m.Alarms {
			told = append(told, a.State+" "+a.Rule)
		}
	}))
	t.Cleanup(inbox.Close)
	server := testenv.Redis(t)
	b := newBoard(t, server, fmt.Sprintf("[alert]\nevery = \"1s\"\nbuiltin = false\n[alert.target.hook]\nkind = \"json\"\nurl = %q\nrate = 600\n"+
		"[alert.rule.away]\nredis_away = true\nfor = \"0s\"\nrecover_after = \"0s\"\n[alert.rule.dead]\ndead = 2\nfor = \"0s\"\nrecover_after = \"0s\"\n", inbox.URL))
	wantTold := func(what string, want ...string) {
		testenv.Poll(t, 2*patience, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(told, want)
		})
	}
	b.rdb.ConfigSet(t.Context(), "maxmemory", "1mb")
	wantTold("the alarm of a full Redis", "firing away")
	for range 3 {
		b.rdb.Eval(t.Context(), "redis.call('HDEL', 'none', 'x') redis.call('RPUSH', KEYS[1], ARGV[1])", []string{"delay:dead:mail"}, `{"job":{"uuid":"a"},"error":"x","trace":"","at":"2026-11-30 12:00:00"}`)
	}
	wantTold("another alarm at a full Redis", "firing away", "firing dead")
	b.rdb.ConfigSet(t.Context(), "maxmemory", "0")
	wantTold("the end of the first", "firing away", "firing dead", "recovered away")
}
