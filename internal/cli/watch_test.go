package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidecar/internal/cli"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// pty is a terminal as a person sees it.
type pty struct {
	t         *testing.T
	person    *os.File // reads what is shown, writes keys
	sidecar   *os.File // what the sidecar has for a terminal
	mu        sync.Mutex
	shownText bytes.Buffer
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 60, Row: 10}); err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, person: os.NewFile(uintptr(fd), "ptmx")}
	if p.sidecar, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(p, p.person) })
	t.Cleanup(func() {
		_ = p.person.Close()
		wg.Wait()
		_ = p.sidecar.Close()
	})
	return p
}

// Write takes what is shown.
func (p *pty) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shownText.Write(b)
}

func (p *pty) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shownText.String()
}

func (p *pty) await(what string) {
	p.t.Helper()
	testenv.Poll(p.t, 10*time.Second, what, func() bool { return strings.Contains(p.shown(), what) })
}

// run runs the sidecar on the terminal and returns its exit code, once it has ended.
func (p *pty) run(args ...string) <-chan int {
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(args, cli.Env{Stdin: p.sidecar, Stdout: p.sidecar, Stderr: io.Discard, Version: "v-test"})
	}()
	return code
}

func TestTopRedrawsATerminalUntilQ(t *testing.T) {
	t.Parallel()
	s, p := newShop(t), newPTY(t)
	before, err := unix.IoctlGetTermios(int(p.sidecar.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	s.do("RPUSH", "delay:ready:order_timeout", "a", "b", "c")
	ended := p.run("top", "--every", "100ms", "-c", s.config)
	p.await("\x1b[?1049h")
	p.await("order_timeout")
	s.do("RPUSH", "delay:ready:order_timeout", "d")
	p.await("backlog 4")
	if _, err := p.person.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
	p.await("\x1b[?1049l")
	after, err := unix.IoctlGetTermios(int(p.sidecar.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal was left in another state: %v", err)
	}
	_, page, _ := strings.Cut(p.shown(), "\x1b[H")
	page, _, _ = strings.Cut(page, "\x1b[J")
	lines := strings.Split(page, "\x1b[K")
	if len(lines) != 6 || !strings.Contains(lines[2], "order_timeout") { // the one with something to do comes first
		t.Errorf("drew %q", lines)
	}
}

func TestTopPrintsOneTableWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("RPUSH", "queue:prod:mail", "a")
	s.do("ZADD", "delay:pool:order_timeout", 1, "b", 2, "c")
	table := s.verb(0, nil, "top")
	order := []string{"topics", "TOPIC BACKLOG", "order_timeout 2", "mail 1", "send_sms 0"}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for i, want := range order {
		if len(lines) != len(order) || !strings.Contains(strings.Join(strings.Fields(lines[i]), " "), want) {
			t.Fatalf("line %d: want %q in\n%s", i, want, table)
		}
	}
	var got struct {
		Topics []struct {
			Topic   string
			Backlog int
		}
	}
	text := s.verb(0, nil, "top", "--json", "--sort", "topic")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Topics) != 3 || got.Topics[1].Topic != "order_timeout" || got.Topics[1].Backlog != 2 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestTopTellsWhatChangedASecond(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	lines := strings.Split(s.verb(0, nil, "top", "--json", "--count", "2", "--every", "100ms"), "\n")
	if len(lines) != 3 || strings.Contains(lines[0], "per_second") || !strings.Contains(lines[1], `"per_second":{"pool":0,"ready":0,"running":0,"dead":0}`) {
		t.Errorf("got %q", lines)
	}
}

func TestStatusWatchesATerminal(t *testing.T) {
	s, p := newShop(t), newPTY(t)
	t.Setenv("NO_COLOR", "1")
	ended := p.run("status", "--watch", "100ms", "-c", s.config)
	p.await("order_timeout")
	s.do("RPUSH", "delay:dead:order_timeout", "a")
	p.await("1 (+")
	if strings.Contains(p.shown(), "\x1b[31m") || strings.Contains(p.shown(), "\x1b[1m") {
		t.Errorf("NO_COLOR does not hold: %q", p.shown())
	}
	if _, err := p.person.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	s, p := newShop(t), newPTY(t)
	if got := s.verb(0, nil, "status"); strings.Contains(got, "\x1b") {
		t.Errorf("colours without a terminal: %q", got)
	}
	s.dead("a", "x", "2026-11-29 12:00:00")
	if code := <-p.run("dead", "list", "order_timeout", "-c", s.config); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.await("\x1b[1mAT")
}

func TestTopShowsWhatCameAndWentInAMinute(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	beat, err := queue.NewHeartbeats(s.Client, "").Beat(t.Context(), queue.Heartbeat{Instance: "a", Host: "web1"})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(beat.At.Sub(time.Unix(0, 0)) / time.Minute)
	minutes := queue.NewMinutes(s.Client, "")
	for at, pool := range map[int64]int64{now - 3: 100, now - 2: 90} {
		minute := queue.Minute{At: at, Topics: map[string]queue.TopicMinute{"order_timeout": {Left: 60, Depths: &queue.Reading{Pool: pool}}}}
		if err := minutes.Put(t.Context(), "a", minute); err != nil {
			t.Fatal(err)
		}
	}
	s.verb(0, []string{`"backlog":0,"in_per_minute":50,"out_per_minute":60}`}, "top", "--json")
	table := strings.Join(strings.Fields(s.verb(0, nil, "top", "--sort", "topic")), " ")
	for _, want := range []string{"IN/MIN OUT/MIN", "mail 0 - - - -", "order_timeout 0 - 50 60 -"} {
		if !strings.Contains(table, want) {
			t.Errorf("want %q in\n%s", want, table)
		}
	}
}
