package admin_test

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidecar/internal/admin"
	"sidecar/internal/testenv"
)

// dashboardServed serves a dashboard until stop is called, which says how long that took.
func dashboardServed(t *testing.T) (addr string, stop func() time.Duration) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h, _ := dashboard(loopback)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		admin.Serve(ctx, ln, h, slog.New(slog.DiscardHandler))
	}()
	stop = func() time.Duration {
		began := time.Now()
		cancel()
		<-over
		return time.Since(began)
	}
	t.Cleanup(func() { stop() })
	return ln.Addr().String(), stop
}

func TestStreamsAreBoundedAndLeaveRoomForOthers(t *testing.T) {
	addr, stop := dashboardServed(t)
	get := func(path, accept string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	var streams []*bufio.Scanner
	for range 16 {
		resp := get("/api/v1/events", "text/event-stream")
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
		}
		lines := bufio.NewScanner(resp.Body)
		if !lines.Scan() || lines.Text() != "event: topic" {
			t.Fatalf("a stream begins with %q", lines.Text())
		}
		streams = append(streams, lines)
	}
	for _, path := range []string{"/api/v1/events", "/?live=1", "/topic?t=mail&live=1"} {
		if resp := get(path, "text/event-stream"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: one more: %d", path, resp.StatusCode)
		}
	}
	for _, path := range []string{"/healthz", "/api/v1/overview", "/topic"} {
		if resp := get(path, "text/html"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s beside the streams: %d", path, resp.StatusCode)
		}
	}
	stop()
	for i, lines := range streams { // one that the stop has to wait for would be cut when its patience is over
		for lines.Scan() { // to its end
		}
		if lines.Err() != nil {
			t.Errorf("stream %d was cut: %v", i, lines.Err())
		}
	}
}

func TestASearchStreamsItsSteps(t *testing.T) {
	h, _ := dashboard(loopback)
	got := send(t, h, request{path: "/api/v1/search?uuid=a1", headers: map[string]string{"Accept": "text/event-stream"}}).Body.String()
	if strings.Count(got, "event: step\ndata: {") != 2 || !strings.Contains(got, `"uuid":"a1"`) {
		t.Errorf("got %s", got)
	}
	got = send(t, h, request{path: "/api/v1/search?uuid=a1&cursor=9", headers: map[string]string{"Accept": "text/event-stream"}}).Body.String()
	if !strings.Contains(got, "event: trouble") {
		t.Errorf("got %s", got)
	}
}

// A stream's place is free again when its viewer goes.
func TestAViewerThatGoesMakesRoom(t *testing.T) {
	addr, _ := dashboardServed(t)
	open := func() (int, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, func() { cancel(); _ = resp.Body.Close() }
	}
	var leave []func()
	for range 16 {
		_, l := open()
		leave = append(leave, l)
	}
	if code, l := open(); code != http.StatusServiceUnavailable {
		t.Errorf("the 17th: %d", code)
	} else {
		l()
	}
	leave[3]()
	testenv.Poll(t, 20*time.Second, "a place", func() bool {
		code, l := open()
		l()
		return code == http.StatusOK
	})
	for _, l := range leave {
		l()
	}
}
