package admin_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
)

// ask sends one request to a side with these reasons not to be ready.
func ask(t *testing.T, method, path string, reasons ...string) (code int, body string) {
	t.Helper()
	ready := func(context.Context) []string { return reasons }
	got := httptest.NewRecorder()
	admin.Handler(prometheus.NewRegistry(), ready, none, "v-test").ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), method, path, nil))
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
