package admin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A token that cannot be tried at the login can be tried nowhere.
func TestTokensCannotBeTriedAtTheMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := guarded("s3cret")
		try := func(with string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/metrics", nil)
			r.Header.Set("Authorization", "Bearer "+with)
			got := httptest.NewRecorder()
			h.ServeHTTP(got, r)
			return got.Code
		}
		for range 10 {
			try("wrong")
		}
		if code := try("s3cret"); code != http.StatusUnauthorized {
			t.Errorf("the right one after ten wrong ones: %d", code)
		}
		<-time.After(2 * time.Minute)
		if code := try("s3cret"); code != http.StatusOK {
			t.Errorf("later: %d", code)
		}
	})
}

func TestAnyPathLeadsToTheOneLoginPage(t *testing.T) {
	h, _ := dashboard(open)
	for path, want := range map[string]string{"/topic?t=a/b": "login?", "/old/path?x=/y/z": "../login?", "/a/b/": "../../login?"} {
		got := send(t, h, request{path: path, remote: "10.0.0.9:1"})
		if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || !strings.HasPrefix(to, want) {
			t.Errorf("%s leads to %q, want %s…", path, to, want)
		}
	}
}

// nginx, told nothing but proxy_pass, says neither from whom a request is nor by which name it was asked, but speaks HTTP/1.0.
func TestASilentProxyIsNotTakenForThisHost(t *testing.T) {
	h, _ := dashboard(loopback)
	for _, path := range []string{"/topic?t=mail", "/api/v1/overview"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host, r.RemoteAddr, r.Proto, r.ProtoMinor = "127.0.0.1:9180", "127.0.0.1:5555", "HTTP/1.0", 0
		got := httptest.NewRecorder()
		h.ServeHTTP(got, r)
		if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "token_file") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

func TestOrdersThatMakeNoSenseChangeNothing(t *testing.T) {
	h, source := dashboard(open)
	for path, body := range map[string]string{
		"/api/v1/topics/mail/drop":   `{"limit":-1}`,
		"/api/v1/topics/mail/pause":  `{"for_seconds":-1}`,
		"/api/v1/topics/a%2Fb/pause": `{"for_seconds":1e300}`,
		"/api/v1/topics/a/pause":     `{"for_seconds":1e-10}`,
	} {
		got := send(t, h, request{method: http.MethodPost, path: path, body: body, headers: map[string]string{
			"Authorization": "Bearer " + token, "Content-Type": "application/json",
		}})
		if got.Code != http.StatusBadRequest || len(source.did) > 0 {
			t.Errorf("%s %s: %d %s %v", path, body, got.Code, got.Body, source.did)
		}
	}
}

// Whoever holds many connections keeps no other host's probe waiting.
func TestOneAddressCannotTakeAllPlaces(t *testing.T) {
	addr := served(t)
	for range 200 {
		c := connect(t, addr)
		_, _ = io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: ") // it may have been hung up on
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatalf("another address's probe: %v", err)
	}
	_ = resp.Body.Close()
}
