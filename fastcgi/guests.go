package fastcgi

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
)

// guestsAtOnce is how many callers of a socket are listened to at once.
const guestsAtOnce = 64

// nobodyKnown stands for the user of a caller over TCP, whom the kernel does not tell.
const nobodyKnown = -1

// guest is a caller of a socket who has not shown yet that he may.
type guest struct {
	net.Conn
	uid   int // or nobodyKnown
	among *guests
}

// guests are the callers of one socket. Whoever may call says so in the moment in which he has connected: so when they
// are too many, the one is hung up on who has been silent for longest, of the user who has most. A stranger who holds
// connections open keeps out himself, and not a worker.
type guests struct {
	mu   sync.Mutex
	list []*guest // in order of arrival; guarded by mu
}

// admit takes conn for a guest.
func (s *guests) admit(conn net.Conn) *guest {
	g := &guest{Conn: conn, uid: peerUID(conn), among: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= guestsAtOnce {
		s.turnAway()
	}
	s.list = append(s.list, g)
	return g
}

// turnAway hangs up on one. mu is held.
func (s *guests) turnAway() {
	count := map[int]int{}
	for _, g := range s.list {
		count[g.uid]++
	}
	most := slices.MaxFunc(s.list, func(a, b *guest) int { return count[a.uid] - count[b.uid] }).uid
	at := slices.IndexFunc(s.list, func(g *guest) bool { return g.uid == most })
	_ = s.list[at].Close() // whoever reads from it notices
	s.list = slices.Delete(s.list, at, at+1)
}

// settle takes g off the list: he has shown who he is, or is gone. It reports false if he was turned away before.
func (g *guest) settle() bool {
	g.among.mu.Lock()
	defer g.among.mu.Unlock()
	at := slices.Index(g.among.list, g)
	if at < 0 {
		return false
	}
	g.among.list = slices.Delete(g.among.list, at, at+1)
	return true
}

// peerUID returns the user at the other end of conn.
func peerUID(conn net.Conn) int {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nobodyKnown
	}
	cred, err := peerCred(c)
	if err != nil {
		return nobodyKnown
	}
	return int(cred.Uid)
}

// peerCred returns what the kernel knows of the other end: who connected, or, for a client, who listens there.
func peerCred(c *net.UnixConn) (*syscall.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	return cred, errors.Join(err, credErr)
}
