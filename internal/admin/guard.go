package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Guard asks for token as a bearer's: without it the two probes answer with nothing but their status, which is all
// that a load balancer or a kubelet needs, and everything else with 401. An empty token asks for none.
func Guard(h http.Handler, token string) http.Handler {
	if token == "" {
		return h
	}
	want, tried := sha256.Sum256([]byte(token)), newAttempts()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case tried.bears(r, want):
			h.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz":
			h.ServeHTTP(statusOnly{w}, r)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want Authorization: Bearer <what is in admin.token_file>", http.StatusUnauthorized)
		}
	})
}

// bears reports that r carries the token with that sum, unless its address has shown too many wrong ones of late.
func (a *attempts) bears(r *http.Request, want [sha256.Size]byte) bool {
	if r.Header.Get("Authorization") == "" {
		return false
	}
	from := callerOf(r.RemoteAddr)
	if a.wait(from) > 0 {
		return false
	}
	if !bears(r, want) {
		a.fail(from)
		return false
	}
	a.forget(from)
	return true
}

// bears reports that r carries the token with that sum. It takes as long whatever r says.
func bears(r *http.Request, want [sha256.Size]byte) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// statusOnly throws the body away.
type statusOnly struct{ http.ResponseWriter }

// Write takes p and sends nothing.
func (statusOnly) Write(p []byte) (int, error) { return len(p), nil }

// withoutBody refuses requests that carry one: nothing here takes any.
func withoutBody(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // the rest is not read
			http.Error(w, "want no body", http.StatusRequestEntityTooLarge)
			return
		}
		h.ServeHTTP(w, r)
	})
}
