package fastcgi_test

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// record is one FastCGI record as FPM would send it.
func record(kind byte, content string) string {
	head := [8]byte{1, kind, 0, 1}
	binary.BigEndian.PutUint16(head[4:], uint16(len(content)))
	return string(head[:]) + content
}

const fakeStdout, fakeEnd = 6, 3

// fakeFPM answers every request with the same bytes and hangs up.
func fakeFPM(t *testing.T, answer string) *testenv.FPM {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fpm.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveFake(c, answer)
		}
	}()
	return &testenv.FPM{Dir: t.TempDir(), Listen: "unix://" + path}
}

// serveFake reads a request up to its empty STDIN record before it answers.
func serveFake(c net.Conn, answer string) {
	defer c.Close()
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		size := int64(binary.BigEndian.Uint16(head[4:]))
		if _, err := io.CopyN(io.Discard, c, size+int64(head[6])); err != nil {
			return
		}
		if head[1] == 5 && size == 0 {
			_, _ = io.WriteString(c, answer)
			return
		}
	}
}

// C148: what was cut is not done, whatever it begins with.
func TestCutAnswersAreNeverDone(t *testing.T) {
	const head = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
	tests := map[string]struct {
		answer string
		bridge compat.Verdict
		raw    compat.Verdict
	}{
		"nothing":                 {"", compat.Unavailable, compat.Crashed},
		"part of the body":        {record(fakeStdout, head+`{"ok":true,"rest":"aaaaaaaaaaaaaaaaaaaaa`), compat.Unavailable, compat.Crashed},
		"the body without an end": {record(fakeStdout, head+`{"ok":true}`), compat.Unavailable, compat.Crashed},
		"half a record":           {record(fakeStdout, head+`{"ok":true}`)[:40], compat.Unavailable, compat.Crashed},
		"half an end":             {record(fakeStdout, head+`{"ok":true}`) + record(fakeEnd, "12345678")[:9], compat.Unavailable, compat.Crashed},
		"an end alone":            {record(fakeEnd, "12345678"), compat.Unavailable, compat.Failed},
		"all of it":               {record(fakeStdout, head+`{"ok":true}`) + record(fakeEnd, "12345678"), compat.Unavailable, compat.Done},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fakeFPM(t, tt.answer))
			if got := r.topic("/srv/ok.php").Run(t.Context(), job(t, "")); got.Outcome.Verdict != tt.bridge {
				t.Errorf("bridge: got %+v, want %s", got.Outcome, tt.bridge)
			}
			if got := r.topic("/srv/ok.php", raw).Run(t.Context(), job(t, "")); got.Outcome.Verdict != tt.raw {
				t.Errorf("raw: got %+v, want %s", got.Outcome, tt.raw)
			}
		})
	}
}

// FuzzReply: whatever FPM sends, a run comes to one outcome, within its limits, and never to done without the sign.
func FuzzReply(f *testing.F) {
	for i, answer := range realReplies(f) {
		f.Add(answer, i%2 == 0)
	}
	f.Add([]byte(record(fakeStdout, "Status: 404 Not Found\r\n\r\nFile not found.\n")+record(fakeEnd, "12345678")), true)
	f.Add([]byte(record(7, "PHP message: x")+record(fakeStdout, "X: y\r\n\r\nsuccess")+record(fakeEnd, "12345678")), false)
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true)
	f.Add([]byte{1, 6, 0, 1, 255, 255, 255, 0, 1}, false)
	f.Fuzz(func(t *testing.T, answer []byte, bridge bool) {
		r := newRig(t, fakeFPM(t, string(answer)))
		set := raw
		if bridge {
			set = func(*fastcgi.TopicOptions) {}
		}
		got := r.topic("/srv/ok.php", set, func(o *fastcgi.TopicOptions) { o.OutputLimit = 100 }).Run(t.Context(), job(t, ""))
		if got.Outcome.Verdict < compat.Done || got.Outcome.Verdict > compat.Unavailable {
			t.Errorf("no verdict: %+v", got.Outcome)
		}
		if bridge && got.Outcome.Verdict == compat.Done {
			t.Errorf("done without a sign: %+v", got)
		}
		if len(got.Output) > 200 || len(got.Stderr) > 200 || len(got.Outcome.Trace) > 2000 {
			t.Errorf("beyond the limits: output %d, stderr %d, trace %d", len(got.Output), len(got.Stderr), len(got.Outcome.Trace))
		}
	})
}
