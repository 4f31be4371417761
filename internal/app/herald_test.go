package app

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/config"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// systemd listens where systemd would, for the time of a test.
type systemd struct {
	t    *testing.T
	conn *net.UnixConn
}

func newSystemd(t *testing.T) *systemd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return &systemd{t, conn}
}

// heard returns what has been said since the last time.
func (s *systemd) heard() (all []string) {
	s.t.Helper()
	buf := make([]byte, 4096)
	for {
		_ = s.conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		n, err := s.conn.Read(buf)
		if err != nil {
			return all
		}
		all = append(all, string(buf[:n]))
	}
}

// heralded is an app with one topic whose main loop answers, and its herald.
func heralded(t *testing.T) (*app, *herald, *systemd) {
	t.Helper()
	sd := newSystemd(t)
	dead := queue.DefaultRedisOptions()
	dead.URL = "redis://" + testenv.FreeAddr(t)
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	_, pools := deadPools(t)
	cfg := &config.Config{Timezone: time.UTC, Redis: dead, FPM: pools, Topics: []config.Topic{{Name: "mail", Pool: "default", Queue: opts}}}
	a := newApp(Options{Config: cfg, Log: slog.New(slog.DiscardHandler)})
	g, err := a.newGeneration(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.setStarted()
	a.setCurrent(g)
	t.Cleanup(func() {
		a.retire(g)
		a.pools.stop()
	})
	return a, &herald{app: a, log: a.log, every: 100 * time.Millisecond, feeds: true}, sd
}

// answers has a main loop answer roll calls until the test ends.
func answers(t *testing.T, a *app) {
	t.Helper()
	go func() {
		for {
			select {
			case present := <-a.roll:
				close(present)
			case <-t.Context().Done():
				return
			}
		}
	}()
}

const signOfLife = "WATCHDOG=1"

// Redis and PHP-FPM are both away here: that is no reason to start the process anew, and the line says so.
func TestSystemdIsToldOfLifeWhileAllMoves(t *testing.T) {
	a, h, sd := heralded(t)
	answers(t, a)
	testenv.Poll(t, 10*time.Second, "the pool to be tried", func() bool { return !strings.Contains(a.statusLine(), "not seen yet") })
	for range 3 {
		h.tellOnce(t.Context())
	}
	got := sd.heard()
	if n := len(got) - len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == signOfLife })); n != 3 {
		t.Errorf("%d signs of life in %q, want 3", n, got)
	}
	status := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "STATUS=1 topic, 0 jobs in hand; not ready: ") })
	if status < 0 || len(got) != 4 {
		t.Errorf("got %q, want the status once, with a reason", got)
	}
}

func TestAHangingAppIsNotFed(t *testing.T) {
	for name, hang := range map[string]func(*testing.T, *app) (release func()){
		"the main loop": func(t *testing.T, a *app) func() { return func() { answers(t, a) } },
		"a lock of the app": func(t *testing.T, a *app) func() {
			answers(t, a)
			a.mu.Lock()
			return a.mu.Unlock
		},
		"a lock of a topic": func(t *testing.T, a *app) func() {
			answers(t, a)
			topic := a.current.topics[0]
			topic.mu.Lock()
			return topic.mu.Unlock
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, h, sd := heralded(t)
			release := hang(t, a)
			for range 2 {
				h.tellOnce(t.Context())
			}
			if got := sd.heard(); len(got) != 1 || !strings.HasPrefix(got[0], "STATUS=hangs: ") {
				t.Errorf("got %q, want nothing but that it hangs", got)
			}
			release()
			testenv.Poll(t, 10*time.Second, "a sign of life", func() bool {
				h.tellOnce(t.Context())
				return slices.Contains(sd.heard(), signOfLife)
			})
		})
	}
}

// Its main loop answers no roll call any more while it stops, and that takes as long as it takes.
func TestAStopIsNoHang(t *testing.T) {
	_, h, sd := heralded(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	h.run(ctx)
	if got := sd.heard(); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestAStatusIsOneLine(t *testing.T) {
	if got, want := statusLine("redis: a\nWATCHDOG=1\x1b[31m"), "redis: a WATCHDOG=1 [31m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := statusLine(strings.Repeat("中", 200)); len(got) > statusMost+10 || !strings.HasSuffix(got, "中 …") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

func TestTheHeraldIsFasterThanSystemdsPatience(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "6000000")
	if h := newHerald(&app{}); !h.feeds || h.every != 2*time.Second {
		t.Errorf("feeds %t every %s, want every 2s", h.feeds, h.every)
	}
	t.Setenv("WATCHDOG_USEC", "")
	if h := newHerald(&app{}); h.feeds || h.every != statusEvery {
		t.Errorf("feeds %t every %s without a watchdog", h.feeds, h.every)
	}
}
