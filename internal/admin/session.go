package admin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// The bounds of sessions. They are kept in memory only: a restart ends them all.
const (
	sessionsMost = 64
	sessionLife  = 12 * time.Hour
	sessionIdle  = 2 * time.Hour
)

// sessions are the logins that hold. Only sums of their ids are kept, so that nothing here opens anything.
type sessions struct {
	secret [sha256.Size]byte // of this process

	mu   sync.Mutex
	open map[[sha256.Size]byte]*session // guarded by mu
}

type session struct {
	began, seen time.Time
	streams     map[*http.Request]context.CancelFunc // which end with it
}

func newSessions() *sessions {
	s := &sessions{open: make(map[[sha256.Size]byte]*session)}
	_, _ = rand.Read(s.secret[:]) // it never fails
	return s
}

// begin opens a session and returns its id. Beyond the bound the one that was idle for longest ends.
func (s *sessions) begin() (id string) {
	id = rand.Text() + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.prune(now)
	if len(s.open) >= sessionsMost {
		s.endOldest()
	}
	s.open[sha256.Sum256([]byte(id))] = &session{began: now, seen: now, streams: make(map[*http.Request]context.CancelFunc)}
	return id
}

// holds reports whether id is that of a session that has not ended.
func (s *sessions) holds(id string) bool {
	if id == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.prune(now)
	// Found by its sum: how long that takes says nothing about the id.
	found := s.open[sha256.Sum256([]byte(id))]
	if found == nil {
		return false
	}
	found.seen = now
	return true
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(sha256.Sum256([]byte(id)))
}

// during returns r with a context that ends with the session of that id, at the latest when that is too old. leave is to be called
// when r is answered.
func (s *sessions) during(r *http.Request, id string) (bound *http.Request, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.open[sha256.Sum256([]byte(id))]
	if found == nil { // it has ended since it was asked for
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		return r.WithContext(ctx), cancel
	}
	ctx, cancel := context.WithDeadline(r.Context(), found.began.Add(sessionLife))
	bound = r.WithContext(ctx)
	found.streams[bound] = cancel
	return bound, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(found.streams, bound)
	}
}

// closeLocked ends a session and the streams that were opened with it. s.mu is held.
func (s *sessions) closeLocked(sum [sha256.Size]byte) {
	if found := s.open[sum]; found != nil {
		for _, end := range found.streams {
			end()
		}
	}
	delete(s.open, sum)
}

// prune ends what is too old. s.mu is held.
func (s *sessions) prune(now time.Time) {
	for sum, one := range s.open {
		if now.Sub(one.began) >= sessionLife || now.Sub(one.seen) > sessionIdle {
			s.closeLocked(sum)
		}
	}
}

// endOldest ends the session that was idle for longest. s.mu is held.
func (s *sessions) endOldest() {
	var oldest [sha256.Size]byte
	var found *session
	for sum, one := range s.open {
		if found == nil || one.seen.Before(found.seen) {
			oldest, found = sum, one
		}
	}
	s.closeLocked(oldest)
}

// formToken is what forms of the session have to bring back; without a session, those of this process.
func (s *sessions) formToken(id string) string {
	mac := hmac.New(sha256.New, s.secret[:])
	mac.Write([]byte("form " + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
