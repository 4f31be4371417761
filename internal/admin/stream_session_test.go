package admin_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
	"sidecar/internal/dash"
)

// livePages have streams that end with their requests alone.
type livePages struct{ fakePages }

func (p livePages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("live") {
		<-r.Context().Done()
		return
	}
	p.fakePages.ServeHTTP(w, r)
}

func liveDashboard() http.Handler {
	return admin.New(admin.Options{
		Gatherer: prometheus.NewRegistry(), Ready: func(context.Context) []string { return nil }, Holds: noHolds, Lists: none, Version: "v-test",
		Door: open, Pages: livePages{}, Source: &fakeSource{},
	})
}

// watch opens a stream of a page and one of the API, and returns when each of them ended.
func watch(t *testing.T, h http.Handler, cookie *http.Cookie) <-chan time.Duration {
	t.Helper()
	began, ended := time.Now(), make(chan time.Duration, 2)
	for _, path := range []string{"/topic?t=mail&live=1", "/api/v1/events"} {
		q := request{path: path, cookie: cookie}
		go func() {
			if got := send(t, h, q); got.Code != http.StatusOK {
				t.Errorf("%s: %d", path, got.Code)
			}
			ended <- time.Since(began)
		}()
	}
	synctest.Wait()
	return ended
}

func wantEnd(t *testing.T, ended <-chan time.Duration, want time.Duration, why string) {
	t.Helper()
	for range 2 {
		select {
		case got := <-ended:
			if got != want {
				t.Errorf("%s: a stream ended after %s, want %s", why, got, want)
			}
		case <-time.After(want + time.Second):
			t.Errorf("%s: a stream goes on", why)
		}
	}
}

// Whoever logs out, or loses the session, sees nothing more in any tab.
func TestAStreamEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := liveDashboard()
		_, cookie := login(t, h, token, "", nil)
		_, other := login(t, h, token, "", nil)
		_, csrf, _ := strings.Cut(send(t, h, request{path: "/topic", cookie: cookie}).Body.String(), "csrf=")
		csrf, _, _ = strings.Cut(csrf, " ")
		out, stays := watch(t, h, cookie), watch(t, h, other)
		<-time.After(3*time.Second + time.Millisecond)
		send(t, h, request{method: "POST", path: "/logout", cookie: cookie, body: url.Values{dash.CSRFField: {csrf}}.Encode()})
		wantEnd(t, out, 3*time.Second+time.Millisecond, "a logout")
		if len(stays) != 0 {
			t.Error("another session's stream ended, too")
		}

		for range 64 { // other's is the oldest
			<-time.After(time.Second)
			login(t, h, token, "", nil)
		}
		if got := <-stays; got > 2*time.Minute {
			t.Errorf("the stream of a session that made way ended after %s", got)
		}
		<-stays
	})
}

func TestAStreamEndsWhenItsSessionIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := liveDashboard()
		_, cookie := login(t, h, token, "", nil)
		for range 7 {
			<-time.After(100 * time.Minute)
			send(t, h, request{path: "/topic", cookie: cookie})
		}
		<-time.After(15 * time.Minute)
		wantEnd(t, watch(t, h, cookie), 5*time.Minute, "twelve hours")
		wantAnswer(t, send(t, h, request{path: "/api/v1/events", cookie: cookie}), http.StatusUnauthorized, "")
	})
}
