package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sidecar/compat"
)

// socket is where bridges call the sidecar: a unix socket in bridge_dir, or a TCP port for those that cannot reach
// one. Everybody may connect, so that whoever serves it believes nothing without a secret.
type socket struct {
	bridge bridgeFile
	role   string // report or worker
	pool   string
	tcp    string // host:port instead of a unix socket, "" = unix
	log    *slog.Logger

	mu       sync.Mutex
	listener net.Listener
	path     string        // of the unix socket, as this host sees it
	opened   chan struct{} // told of each new listener
}

func newSocket(bridge bridgeFile, role, pool, tcp string, log *slog.Logger) *socket {
	return &socket{bridge: bridge, role: role, pool: pool, tcp: tcp, log: log, opened: make(chan struct{}, 1)}
}

// listen opens the socket. Its name is new each time, so that an old and a new sidecar, or an old and a new
// configuration of one, do not meet.
func (s *socket) listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	return s.open(ctx)
}

// open does it; mu is held.
func (s *socket) open(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // a run that is being stopped needs the socket all the same
	var err error
	if s.tcp != "" {
		s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.tcp)
	} else {
		err = s.openUnix(ctx)
	}
	if err != nil {
		s.listener = nil
		return err
	}
	select {
	case s.opened <- struct{}{}:
	default:
	}
	return nil
}

func (s *socket) openUnix(ctx context.Context) error {
	prefix := s.role + "-" + fileName(s.pool) + "-"
	if err := s.bridge.makeDir(); err != nil {
		return err
	}
	s.removeStale(ctx, prefix)
	path := filepath.Join(s.bridge.dir, prefix+string(newNonce()[:8])+".sock")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("bridge_dir = %q: open the %s socket: %w", s.bridge.dir, s.role, err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // FPM's user is not ours
		return errors.Join(err, l.Close())
	}
	s.listener, s.path = l, path
	return nil
}

// removeStale removes the sockets of sidecars that are gone.
func (s *socket) removeStale(ctx context.Context, prefix string) {
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
func (s *socket) address(ctx context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.listener == nil:
		return ""
	case s.tcp != "":
		return "tcp://" + s.listener.Addr().String()
	case !exists(s.path):
		_ = s.listener.Close() // run notices, and goes on with the new one
		s.listener = nil
		if err := s.open(ctx); err != nil {
			s.log.WarnContext(ctx, "a socket is gone", "role", s.role, "error", err)
			return ""
		}
	}
	seen, ok := s.bridge.seenByFPM(filepath.Base(s.path))
	if !ok {
		return ""
	}
	return "unix://" + seen
}

// run gives each caller to serve, each in a goroutine, until ctx is done, then removes the socket.
func (s *socket) run(ctx context.Context, serve func(*guest)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, s.shut)()
	callers := &guests{}
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
		caller := callers.admit(conn)
		wg.Go(func() {
			defer caller.settle()
			serve(caller)
		})
	}
	s.shut()
}

func (s *socket) accept() (net.Conn, error) {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return nil, net.ErrClosed
	}
	return l.Accept()
}

func (s *socket) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close() // removes the file, too
	}
	s.listener, s.path = nil, ""
}

// fileName is name with everything replaced that could mean something in a path or a pattern.
func fileName(name string) string {
	return strings.Map(func(c rune) rune {
		if compat.IsPlain(string(c)) {
			return c
		}
		return '_'
	}, name)
}
