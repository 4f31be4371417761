package fastcgi

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"
)

const (
	reportLineLimit = 64 << 10
	reportPatience  = 2 * time.Second
	// helloPrecedes is how long a verdict waits for the hello that was sent before it, but read by somebody else.
	helloPrecedes = time.Second
)

// reports is the socket over which a bridge speaks when its FastCGI connection cannot carry the words: the hello
// where fastcgi.logging is off, the verdict where the team's code had finished the request. Everybody may connect,
// so nothing is believed that does not name a run in hand, and no verdict whose hash is wrong.
type reports struct {
	*socket

	mu   sync.Mutex
	runs map[string]*run // by id; guarded by mu
}

func newReports(s *socket) *reports { return &reports{socket: s, runs: map[string]*run{}} }

// run takes reports until ctx is done, then removes the socket.
func (s *reports) run(ctx context.Context) { s.socket.run(ctx, s.serve) }

// serve reads one line and answers OK if it was for a run in hand.
func (s *reports) serve(c *guest) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(reportPatience)) // a socket that cannot takes no writes either
	line, err := bufio.NewReaderSize(c, reportLineLimit).ReadSlice('\n')
	if err != nil {
		return
	}
	answer := "NO\n"
	if s.take(bytes.Fields(line)) {
		answer = "OK\n"
	}
	_, _ = c.Write([]byte(answer)) // whoever left did not want to know
}

func (s *reports) take(words [][]byte) bool {
	if len(words) < 4 || len(words) > 5 {
		return false
	}
	s.mu.Lock()
	r := s.runs[string(words[1])]
	s.mu.Unlock()
	switch {
	case r == nil:
		return false
	case string(words[0]) == "HELLO":
		pid, err := strconv.Atoi(string(words[2]))
		return err == nil && r.hello(greeting{pid: pid, php: string(words[3]), secret: string(bytes.Join(words[4:], nil))})
	case string(words[0]) == "REPORT" && len(words) == 4:
		select {
		case <-r.met:
		case <-time.After(helloPrecedes):
		}
		verdict, ok := r.signedBy().open(words[2], words[3])
		return ok && r.report(verdict)
	}
	return false
}

func (s *reports) add(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.nonce.id()] = r
}

func (s *reports) remove(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r.nonce.id())
}
