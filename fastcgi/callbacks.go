package fastcgi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net"
	"sync"
	"time"
)

const (
	// protocolVersion is that of the frames; a deployed bridge of another version is refused.
	protocolVersion = 1
	// callbackPatience is how long a caller may take to say who it is.
	callbackPatience = 5 * time.Second
	// helloLimit bounds what a caller may send before: a few hundred bytes are usual.
	helloLimit = 4 << 10
)

// workerID names a resident worker where others may read it.
func (n nonce) workerID() string {
	sum := sha256.Sum256([]byte("worker:" + n))
	return hex.EncodeToString(sum[:8])
}

// isFrom reports that auth shows that its sender holds the token.
func (n nonce) isFrom(auth string) bool {
	sum := sha256.Sum256([]byte(n + ":hello"))
	return subtle.ConstantTimeCompare([]byte(auth), []byte(hex.EncodeToString(sum[:]))) == 1
}

// introduction is the content of a hello frame.
type introduction struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	Auth    string `json:"auth"`
	PID     int    `json:"pid"`
	PHP     string `json:"php"`
	Memory  int64  `json:"mem"`
}

// callback is a bridge that has called and shown that it is a resident of ours.
type callback struct {
	introduction
	conn net.Conn
	in   *frameReader
}

// callbacks is the socket where resident workers call back.
type callbacks struct {
	*socket

	mu      sync.Mutex
	awaited map[string]*resident // by id; guarded by mu
}

func newCallbacks(s *socket) *callbacks {
	return &callbacks{socket: s, awaited: map[string]*resident{}}
}

// serve reads the hello of one caller and hands the connection to whom it belongs. Strangers are hung up on.
func (s *callbacks) serve(c *guest) {
	_ = c.SetDeadline(time.Now().Add(callbackPatience)) // a socket that cannot takes no reads either
	call := callback{conn: c.Conn, in: newFrameReader(c.Conn)}
	call.in.limit = helloLimit
	f, err := call.in.next()
	call.in.limit = frameLimit
	if err == nil && f.kind == helloFrame {
		err = json.Unmarshal(f.body, &call.introduction)
	}
	if err != nil || f.kind != helloFrame || !s.welcome(call, c) {
		_ = c.Close()
	}
}

// welcome gives the call to its resident, once.
func (s *callbacks) welcome(call callback, from *guest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.awaited[call.ID]
	switch {
	case r == nil || !r.token.isFrom(call.Auth):
		return false
	case call.Version != protocolVersion:
		s.log.Warn("the bridge of a worker speaks another version", "version", call.Version, "want", protocolVersion)
		return false
	case !from.settle() || call.conn.SetDeadline(time.Time{}) != nil:
		return false
	}
	delete(s.awaited, call.ID)
	r.calls <- call // it has room for the one
	return true
}

func (s *callbacks) await(r *resident) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited[r.token.workerID()] = r
}

// forget makes sure that r gets no call from here on, and hangs up on one it has not taken.
func (s *callbacks) forget(r *resident) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaited, r.token.workerID())
	select {
	case call := <-r.calls:
		_ = call.conn.Close()
	default:
	}
}
