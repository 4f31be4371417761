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
func TestAFullRedisIsAnAlarmThatIsKeptElsewhere(t *testing.T) {
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
		"[alert.rule.away]\nredis_away = true\nfor = \"0s\"\nrecover_after = \"0s\"\n", inbox.URL))
	wantTold := func(what string, want ...string) {
		testenv.Poll(t, 2*patience, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(told, want)
		})
	}
	b.rdb.ConfigSet(t.Context(), "maxmemory", "1mb")
	wantTold("the alarm of a full Redis", "firing away")
	b.rdb.ConfigSet(t.Context(), "maxmemory", "0")
	wantTold("its end", "firing away", "recovered away")
}
