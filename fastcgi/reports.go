package fastcgi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	reportLineLimit = 64 << 10
	reportReaders   = 64 // at once; the others wait in the backlog
	reportPatience  = 2 * time.Second
)

// reports is the socket over which a bridge speaks when its FastCGI connection cannot carry the words: the hello
// where fastcgi.logging is off, the verdict where the team's code had finished the request. Everybody may connect,
// so nothing is believed that does not name a run in hand, and no verdict whose hash is wrong.
type reports struct {
	bridge bridgeFile
	pool   string
	log    *slog.Logger

	mu       sync.Mutex
	listener net.Listener
	path     string // of the socket, as this host sees it
	runs     map[string]*run
	opened   chan struct{} // told of each new listener
}

func newReports(bridge bridgeFile, pool string, log *slog.Logger) *reports {
	return &reports{bridge: bridge, pool: pool, log: log, runs: map[string]*run{}, opened: make(chan struct{}, 1)}
}

// listen opens the socket. Its name is new each time, so that an old and a new sidecar, or an old and a new
// configuration of one, do not meet.
func (s *reports) listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	return s.open(ctx)
}

// open does it; mu is held.
func (s *reports) open(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // a run that is being stopped needs the socket all the same
	prefix := "report-" + fileName(s.pool) + "-"
	if err := s.bridge.makeDir(); err != nil {
		return err
	}
	s.removeStale(ctx, prefix)
	path := filepath.Join(s.bridge.dir, prefix+string(newNonce()[:8])+".sock")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("bridge_dir = %q: open the report socket: %w", s.bridge.dir, err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // FPM's user is not ours
		return errors.Join(err, l.Close())
	}
	s.listener, s.path = l, path
	select {
	case s.opened <- struct{}{}:
	default:
	}
	return nil
}

// removeStale removes the sockets of sidecars that are gone.
func (s *reports) removeStale(ctx context.Context, prefix string) {
	paths, _ := filepath.Glob(filepath.Join(s.bridge.dir, prefix+"*.sock"))
	for _, path := range paths {
		c, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err == nil {
			_ = c.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path) // in the worst case it stays
		}
	}
}

// address is the socket as the bridge is told, "" where there is none. One that was removed is opened anew.
func (s *reports) address(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	if !exists(s.path) {
		_ = s.listener.Close() // run notices, and goes on with the new one
		s.listener = nil
		if err := s.open(ctx); err != nil {
			s.log.WarnContext(ctx, "the report socket is gone", "error", err)
			return ""
		}
	}
	seen, ok := s.bridge.seenByFPM(filepath.Base(s.path))
	if !ok {
		return ""
	}
	return "unix://" + seen
}

// run takes reports until ctx is done, then removes the socket.
func (s *reports) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, s.shut)()
	free := make(chan struct{}, reportReaders)
	for ctx.Err() == nil {
		conn, err := s.accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			select {
			case <-s.opened:
			case <-ctx.Done():
			}
			continue
		case err != nil:
			pauseFor(ctx, 100*time.Millisecond) // descriptors used up
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			s.serve(conn)
			<-free
		})
	}
	s.shut()
}

func (s *reports) accept() (net.Conn, error) {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return nil, net.ErrClosed
	}
	return l.Accept()
}

func (s *reports) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close() // removes the file, too
	}
	s.listener, s.path = nil, ""
}

// serve reads one line and answers OK if it was for a run in hand.
func (s *reports) serve(c net.Conn) {
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
	if len(words) != 4 {
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
		return err == nil && r.hello(greeting{pid: pid, php: string(words[3])})
	case string(words[0]) == "REPORT":
		verdict, ok := r.nonce.open(words[2], words[3])
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

// fileName is name with everything replaced that could mean something in a path or a pattern.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if isPlain(string(c)) {
			return c
		}
		return '_'
	}, name)
}
