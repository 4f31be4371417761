package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
	"sidecar/queue"
)

// none is a configuration without lists.
func none() map[string]admin.Reader { return map[string]admin.Reader{} }

// fakeList is a list on a Redis that takes its time, whatever it is told by a context.
type fakeList struct {
	takes time.Duration
	found queue.Depths
	err   error
	asked atomic.Int64
}

func (l *fakeList) Depths(context.Context) (queue.Depths, error) {
	l.asked.Add(1)
	<-time.After(l.takes)
	return l.found, l.err
}

// sideOf serves one list as mail and as queue:prod:mail.
func sideOf(list admin.Reader) http.Handler {
	lists := func() map[string]admin.Reader {
		return map[string]admin.Reader{"mail": list, "queue:prod:mail": list}
	}
	ready := func(context.Context) []string { return nil }
	return admin.Handler(prometheus.NewRegistry(), ready, noHolds, lists, "v-test")
}

func askOf(t *testing.T, side http.Handler, path string) (code int, body string) {
	t.Helper()
	got := httptest.NewRecorder()
	side.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if kind := got.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s is answered as %q", path, kind)
	}
	return got.Code, strings.TrimSpace(got.Body.String())
}

func TestTheLegacyProbeKnowsTheConfiguredListsOnly(t *testing.T) {
	const found = `{"queue_length":1234,"dead_letter_length":5,"redis_latency_ms":0}`
	tests := map[string]struct {
		path string
		code int
		says string
	}{
		"by its key":             {"/probe?queue=queue:prod:mail", 200, found},
		"by its key, escaped":    {"/probe?queue=queue%3Aprod%3Amail", 200, found},
		"by its table's name":    {"/probe?queue=mail", 200, found},
		"another environment's":  {"/probe?queue=queue:staging:mail", 404, "want one of mail, queue:prod:mail"},
		"a shard":                {"/probe?queue=queue:prod:mail_0", 404, "want one of mail, queue:prod:mail"},
		"a key of ours":          {"/probe?queue=sidecar:running:queue:prod:mail", 404, "want one of mail, queue:prod:mail"},
		"none":                   {"/probe", 404, "want one of mail, queue:prod:mail"},
		"what would break JSON":  {"/probe?queue=%22%7D%00%FF", 404, "want one of mail, queue:prod:mail"},
		"what would break pages": {"/probe?queue=%3Cscript%3E", 404, `\u003cscript\u003e`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no time passes, however busy the machine is
				side := sideOf(&fakeList{found: queue.Depths{Ready: 1234, Dead: 5, Pool: 7, Running: 8}})
				code, body := askOf(t, side, tt.path)
				if code != tt.code || !strings.Contains(body, tt.says) {
					t.Errorf("got %d %s, want %d …%s…", code, body, tt.code, tt.says)
				}
				if !json.Valid([]byte(body)) || code == http.StatusOK && body != tt.says {
					t.Errorf("got %s", body)
				}
			})
		})
	}
}

func TestTheLegacyProbeIsUnhealthyBeforeTheListsAreKnown(t *testing.T) {
	ready := func(context.Context) []string { return nil }
	unknown := func() map[string]admin.Reader { return nil }
	code, body := askOf(t, admin.Handler(prometheus.NewRegistry(), ready, noHolds, unknown, "v-test"), "/probe?queue=mail")
	if want := `{"status":"unhealthy","reason":"starting"}`; code != http.StatusServiceUnavailable || body != want {
		t.Errorf("got %d %s, want 503 %s", code, body, want)
	}
}

func TestTheLegacyProbeMeasuresRedisAndNeverGuesses(t *testing.T) {
	found := queue.Depths{Ready: 3, Dead: 1}
	tests := map[string]struct {
		list  *fakeList
		after time.Duration // the answer comes
		code  int
		body  string
	}{
		"at once":               {&fakeList{found: found}, 0, 200, `{"queue_length":3,"dead_letter_length":1,"redis_latency_ms":0}`},
		"rounded down":          {&fakeList{takes: 1499 * time.Microsecond, found: found}, 1499 * time.Microsecond, 200, `{"queue_length":3,"dead_letter_length":1,"redis_latency_ms":1}`},
		"rounded up":            {&fakeList{takes: 1500 * time.Microsecond, found: found}, 1500 * time.Microsecond, 200, `{"queue_length":3,"dead_letter_length":1,"redis_latency_ms":2}`},
		"a second":              {&fakeList{takes: time.Second, found: found}, time.Second, 200, `{"queue_length":3,"dead_letter_length":1,"redis_latency_ms":1000}`},
		"slower":                {&fakeList{takes: 1100 * time.Millisecond, found: found}, 1100 * time.Millisecond, 503, `{"status":"unhealthy","reason":"redis slow or down: it took 1.1s, want 1s at most"}`},
		"silent":                {&fakeList{takes: 5 * time.Second, found: found}, 1200 * time.Millisecond, 503, `{"status":"unhealthy","reason":"redis slow or down: no answer for 1.2s"}`},
		"an error":              {&fakeList{err: errors.New("connection refused")}, 0, 503, `{"status":"unhealthy","reason":"redis slow or down: connection refused"}`},
		"an error and a number": {&fakeList{found: found, err: errors.New("half of it")}, 0, 503, `{"status":"unhealthy","reason":"redis slow or down: half of it"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				code, body := askOf(t, sideOf(tt.list), "/probe?queue=mail")
				if took := time.Since(began); code != tt.code || body != tt.body || took != tt.after {
					t.Errorf("got %d %s after %s, want %d %s after %s", code, body, took, tt.code, tt.body, tt.after)
				}
				<-time.After(tt.list.takes) // the look ends
			})
		})
	}
}

// A monitor that asks again and again while Redis hangs adds nothing to what hangs there.
func TestTheLegacyProbeAsksASilentRedisOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := &fakeList{takes: 5 * time.Second}
		side := sideOf(list)
		var wg sync.WaitGroup
		for range 40 { // four seconds
			for _, name := range []string{"mail", "queue:prod:mail"} {
				wg.Go(func() {
					began := time.Now()
					code, body := askOf(t, side, "/probe?queue="+name)
					if took := time.Since(began); code != http.StatusServiceUnavailable || took > 1200*time.Millisecond {
						t.Errorf("got %d %s after %s", code, body, took)
					}
				})
			}
			<-time.After(100 * time.Millisecond)
		}
		wg.Wait()
		if n := list.asked.Load(); n != 1 {
			t.Errorf("redis was asked %d times, want once", n)
		}
		<-time.After(2 * time.Second) // it has answered
		list.takes = 0
		if code, body := askOf(t, side, "/probe?queue=mail"); code != http.StatusOK {
			t.Errorf("got %d %s from a Redis that answers again", code, body)
		}
	})
}
