package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Whoever logs out while a stream begins sees nothing of it, either.
func TestAStreamWhoseSessionEndsAsItBeginsIsOver(t *testing.T) {
	d := NewDoor(DoorOptions{Listen: "127.0.0.1:9180", Token: "a-token-of-a-test"})
	id := d.sessions.begin()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/v1/events", nil)
	r.AddCookie(&http.Cookie{Name: d.cookie, Value: id})
	_, c, no := d.admit(httptest.NewRecorder(), r, false)
	if no != nil {
		t.Fatal(no)
	}
	d.sessions.end(id)
	reached := false
	d.stream(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = true
		if r.Context().Err() == nil {
			t.Error("a stream goes on whose session has ended")
		}
	}), c, true).ServeHTTP(httptest.NewRecorder(), r)
	if !reached {
		t.Error("the stream was not asked at all")
	}
}
