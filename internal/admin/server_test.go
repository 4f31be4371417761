package admin_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// noHolds is a side whose topics nothing holds back.
func noHolds() []queue.HeldTopic { return nil }

// ask sends one request to a side with these reasons not to be ready.
func ask(t *testing.T, method, path string, reasons ...string) (code int, body string) {
	t.Helper()
	ready := func(context.Context) []string { return reasons }
	got := httptest.NewRecorder()
	admin.Handler(prometheus.NewRegistry(), ready, noHolds, none, "v-test").ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return got.Code, strings.TrimSpace(got.Body.String())
}

func TestTheProbesAnswerInJSON(t *testing.T) {
	tests := map[string]struct {
		path    string
		reasons []string
		code    int
		body    string
	}{
		"alive":                  {"/healthz", nil, 200, `{"status":"alive","version":"v-test"}`},
		"alive though not ready": {"/healthz", []string{"redis: down"}, 200, `{"status":"alive","version":"v-test"}`},
		"ready":                  {"/readyz", nil, 200, `{"status":"ready","version":"v-test"}`},
		"not ready":              {"/readyz", []string{"redis: down", "starting"}, 503, `{"status":"not ready","version":"v-test","reasons":["redis: down","starting"]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if code, body := ask(t, http.MethodGet, tt.path, tt.reasons...); code != tt.code || body != tt.body {
				t.Errorf("got %d %s, want %d %s", code, body, tt.code, tt.body)
			}
		})
	}
}

func TestReadyzTellsOfHoldsAndStaysReady(t *testing.T) {
	ready := func(context.Context) []string { return nil }
	holds := func() []queue.HeldTopic {
		return []queue.HeldTopic{
			{Topic: "mail", Hold: queue.Hold{Kind: queue.HoldManual, Since: time.Unix(1000, 0).UTC(), By: "cli ann@web1", Reason: "a move"}},
			{Topic: "sms", Hold: queue.Hold{Kind: queue.HoldRate, Reason: "50/h"}},
		}
	}
	side := admin.Handler(prometheus.NewRegistry(), ready, holds, none, "v-test")
	for token, want := range map[string]string{
		"right": `{"status":"ready","version":"v-test","holds":[` +
			`{"topic":"mail","kind":"manual","since":"1970-01-01T00:16:40Z","by":"cli ann@web1","reason":"a move"},` +
			`{"topic":"sms","kind":"rate","reason":"50/h"}]}`,
		"wrong": "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		got := httptest.NewRecorder()
		admin.Guard(side, "right").ServeHTTP(got, r)
		if body := strings.TrimSpace(got.Body.String()); got.Code != http.StatusOK || body != want {
			t.Errorf("with the %s token: %d %s, want 200 %s", token, got.Code, body, want)
		}
	}
}

// Where no stream can be had, the script asks for the page itself.
func TestTheScriptThatKeepsAPageFreshIsGivenThePage(t *testing.T) {
	pages := dash.New(&fakeSource{}, dash.Options{})
	side := admin.New(admin.Options{
		Gatherer: prometheus.NewRegistry(), Holds: noHolds, Lists: none, Pages: pages, Source: &fakeSource{},
		Door: admin.DoorOptions{Listen: "127.0.0.1:9180"},
	})
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:9180"+path, nil)
		r.Header.Set("Accept", accept)
		got := httptest.NewRecorder()
		side.ServeHTTP(got, r)
		return got
	}
	accept := "*/*" // as browsers have it for a script
	if said := regexp.MustCompile(`fetch\(location\.href, .*Accept: '([^']+)'`).FindStringSubmatch(get("/assets/app.js", "*/*").Body.String()); said != nil {
		accept = said[1]
	}
	if got := get("/", accept); !strings.Contains(got.Body.String(), `id="overview-tiles"`) {
		t.Errorf("Accept: %s gets %.80q, want the overview", accept, got.Body)
	}
}

func TestNothingButWhatIsListedIsServed(t *testing.T) {
	for path, want := range map[string]int{"/": 200, "/metrics": 200, "/none": 404, "/metrics/": 404} {
		if code, _ := ask(t, http.MethodGet, path); code != want {
			t.Errorf("%s: got %d, want %d", path, code, want)
		}
	}
	if code, _ := ask(t, http.MethodPost, "/readyz"); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d, want 405: the side is read-only", code)
	}
}

func TestServeAnswersUntilItsContextEnds(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	go func() {
		admin.Serve(ctx, ln, handler, slog.New(slog.DiscardHandler))
		close(served)
	}()
	client := &http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(body) != "here" {
		t.Errorf("got %q, %v", body, err)
	}
	cancel()
	select {
	case <-served:
	case <-time.After(5 * time.Second):
		t.Fatal("it serves on")
	}
	if _, err := client.Get("http://" + ln.Addr().String()); err == nil {
		t.Error("it answers after its end")
	}
}
