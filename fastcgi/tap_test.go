package fastcgi_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// patienceOfTaps is how long the traffic that a test has caused may take.
const patienceOfTaps = 20 * time.Second

// tap stands between two sides of a unix socket and keeps what came from one of them, a piece for each connection.
type tap struct {
	path string

	mu     sync.Mutex
	pieces [][]byte
}

// newTap listens at path for what listens at upstream. It keeps the callers' bytes, or the answers to them.
func newTap(tb testing.TB, path, upstream string, callers bool) *tap {
	tb.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		tb.Fatal(err)
	}
	s := &tap{path: path}
	var wg sync.WaitGroup
	tb.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("unix", upstream)
			if err != nil {
				_ = c.Close()
				continue
			}
			wg.Go(func() { s.relay(up, c, callers) })
			wg.Go(func() { s.relay(c, up, !callers) })
		}
	})
	return s
}

// relay copies from one side to the other, and keeps what it copied if it is to be kept.
func (s *tap) relay(to, from net.Conn, kept bool) {
	var piece []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		piece = append(piece, buf[:n]...)
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	if kept && len(piece) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pieces = append(s.pieces, piece)
	}
}

// kept returns what was taken so far, once there are so many pieces.
func (s *tap) kept(tb testing.TB, pieces int) [][]byte {
	tb.Helper()
	var taken [][]byte
	testenv.Poll(tb, patienceOfTaps, "traffic", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		taken = append([][]byte(nil), s.pieces...)
		return len(taken) >= pieces
	})
	return taken
}

// realReplies are what php-fpm sends for runs of many endings.
func realReplies(tb testing.TB) [][]byte {
	tb.Helper()
	f := testenv.StartFPM(tb, testenv.FPMOptions{})
	s := newTap(tb, filepath.Join(f.Dir, "tap.sock"), f.Listen[len("unix://"):], false)
	tapped := *f
	tapped.Listen = "unix://" + s.path
	r := newRig(tb, &tapped)
	names := []string{"ok", "uncaught_exception", "status_500", "parse_error", "kill_self", "finish_then_throw", "noisy_stderr", "huge_headers"}
	for _, name := range names {
		r.handler(name).Run(tb.Context(), job(tb, ""))
	}
	return s.kept(tb, len(names))
}

// realFrames are what real workers send while they do jobs of many endings.
func realFrames(tb testing.TB) [][]byte {
	tb.Helper()
	f := testenv.StartFPM(tb, testenv.FPMOptions{})
	r := newRig(tb, f)
	topic := r.worker("many", `echo "out"; if ($job["say"] === "die") { exit(1); } if ($job["say"] === "throw") { throw new Exception("no"); }`)
	r.run()
	socket := r.socketOf("worker")
	real := socket + ".real"
	if err := os.Rename(socket, real); err != nil {
		tb.Fatal(err)
	}
	s := newTap(tb, socket, real, true)
	for _, say := range []string{"ok", "throw", "ok", "die", "ok"} {
		for topic.Handle(tb.Context(), job(tb, `{"uuid":"a1","say":"`+say+`"}`)).Verdict == compat.Unavailable {
		}
	}
	topic.Drain()
	_ = os.Rename(real, real+".gone") // it is not to be removed with the tap
	return s.kept(tb, 2)
}

// FuzzResident: whatever a worker sends, each job in its hand comes to one outcome, and none to two.
func FuzzResident(f *testing.F) {
	for _, frames := range realFrames(f) {
		f.Add(frames)
	}
	f.Add([]byte(frameOf('V', 17, "\x00\x00\x00\x01{\"v\":\"done\"}") + frameOf('V', 17, "\x00\x00\x00\x02{\"v\":\"done\"}") + frameOf('B', 2, "{")))
	f.Add([]byte(frameOf('V', 1<<25, "\x00\x00\x00\x01")))
	f.Add([]byte(frameOf('R', 3, "{}") + frameOf('D', 17, "\x00\x00\x00\x00{\"v\":\"done\"}")))
	f.Add([]byte(frameOf('V', 42, "\x00\x00\x00\x01{\"v\":\"deferred\",\"delay_ms\":1e308,\"ms\":-1}")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		outcomes := fastcgi.ReadAsFrom(stream, []compat.Job{job(t, ""), job(t, ""), job(t, "")})
		for i, o := range outcomes {
			if o.Verdict < compat.Done || o.Verdict > compat.Unavailable {
				t.Errorf("job %d came to %+v", i, o)
			}
			if o.Verdict == compat.Deferred && (o.Delay < 0 || o.Delay.Hours() > 366*24) {
				t.Errorf("job %d is deferred by %s", i, o.Delay)
			}
		}
	})
}

// FuzzReport: whatever is said on the report socket, or printed as a sign, no verdict is believed without the secret.
func FuzzReport(f *testing.F) {
	nonce, secret := fastcgi.Nonce(), fastcgi.Nonce()
	id := idOf(nonce)
	whole := signOf(fakeOrder{Nonce: nonce + secret}, true)
	half := signOf(fakeOrder{Nonce: nonce}, true)
	f.Add("REPORT "+id+" "+strings.TrimPrefix(whole, "\nsidecar-verdict "), whole)
	f.Add("REPORT "+id+" "+strings.TrimPrefix(half, "\nsidecar-verdict "), half+half)
	f.Add("HELLO "+id+" 1 8.2", "sidecar-hello "+id+" pid=1 secret=x php=8.2; ")
	f.Add("HELLO "+id+" 1 8.2 "+secret, "\nsidecar-verdict \nsidecar-verdict  ")
	f.Fuzz(func(t *testing.T, line, output string) {
		believed, found := fastcgi.Believe(nonce, secret, line, output)
		words := strings.TrimSpace(strings.TrimPrefix(whole, "\nsidecar-verdict "))
		if believed && !strings.Contains(line, words) {
			t.Errorf("the report %q was believed", line)
		}
		if found && !strings.Contains(output, words) {
			t.Errorf("a sign was found in %q", output)
		}
	})
}
