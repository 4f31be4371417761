package fastcgi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"sidecar/compat"
)

func parse(t testing.TB, text string) compat.Job {
	t.Helper()
	job, err := compat.ParseJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// A job's frame, byte for byte: the protocol is written down and spoken by bridges that are deployed elsewhere.
func TestAJobsFrameIsAsWrittenDown(t *testing.T) {
	text := `{"uuid":"a1","payload":"\u00e9 / \"","retry":2,"crashes":1}`
	header := `{"uuid":"a1","tries":2,"crashes":1}`
	want := "\x00\x00\x00\x00J\x00\x00\x00\x07\x00" + string(rune(len(header))) + header + text
	buf := []byte(want)
	binary.BigEndian.PutUint32(buf, uint32(len(want)-4))
	if got := appendJob(nil, 7, parse(t, text), "", compat.TraceContext{}); string(got) != string(buf) {
		t.Errorf("got  %q\nwant %q", got, buf)
	}
	target := `,"call":"App\\Sms::send","timeout_ms":5000`
	header = `{"uuid":"a1","tries":2,"crashes":1` + target + `}`
	want = "\x00\x00\x00\x00J\x00\x00\x00\x07\x00" + string(rune(len(header))) + header + text
	buf = []byte(want)
	binary.BigEndian.PutUint32(buf, uint32(len(want)-4))
	if got := appendJob(nil, 7, parse(t, text), target, compat.TraceContext{}); string(got) != string(buf) {
		t.Errorf("with a target: got  %q\nwant %q", got, buf)
	}
	header = `{"uuid":"a1","tries":2,"crashes":1,"traceparent":"00-1-2-01","tracestate":"a=\"b\""}`
	want = "\x00\x00\x00\x00J\x00\x00\x00\x07\x00" + string(rune(len(header))) + header + text
	buf = []byte(want)
	binary.BigEndian.PutUint32(buf, uint32(len(want)-4))
	traced := compat.TraceContext{Parent: "00-1-2-01", State: `a="b"`}
	if got := appendJob(nil, 7, parse(t, text), "", traced); string(got) != string(buf) {
		t.Errorf("of a trace: got  %q\nwant %q", got, buf)
	}
	if got := appendJob(nil, 7, parse(t, text), "", compat.TraceContext{State: strings.Repeat("a", 513)}); strings.Contains(string(got), "tracestate") {
		t.Error("a state of 513 bytes is passed on")
	}
	if got := appendFrame([]byte("x"), endFrame, ""); string(got) != "x\x00\x00\x00\x01E" {
		t.Errorf("end: %q", got)
	}
}

// A uuid comes from whoever wrote the job: nothing in it may leave its place.
func TestAHeaderHoldsNoForeignCharacters(t *testing.T) {
	buf := appendJob(nil, 1, parse(t, `{"uuid":"a\",\"tries\":0,\"x\":\"","retry":3}`), "", compat.TraceContext{})
	size := binary.BigEndian.Uint16(buf[9:])
	var header struct {
		UUID  string `json:"uuid"`
		Tries int    `json:"tries"`
	}
	if err := json.Unmarshal(buf[11:11+size], &header); err != nil || len(header.UUID) != 64 || header.Tries != 3 {
		t.Errorf("%+v, %v", header, err)
	}
}

func TestFramesAreReadHoweverTheyArrive(t *testing.T) {
	long := strings.Repeat("long", 20<<10)
	stream := appendFrame(nil, pongFrame, "ping")
	stream = appendFrame(stream, verdictFrame, "\x00\x00\x00\x09"+long)
	stream = appendFrame(stream, byeFrame, "")
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(stream),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"by halves":    iotest.HalfReader(bytes.NewReader(stream)),
	} {
		in := newFrameReader(r)
		want := []frame{{pongFrame, []byte("ping")}, {verdictFrame, []byte("\x00\x00\x00\x09" + long)}, {byeFrame, nil}}
		for i, want := range want {
			got, err := in.next()
			if err != nil || got.kind != want.kind || string(got.body) != string(want.body) {
				t.Fatalf("%s: frame %d: %q of %d bytes, %v", name, i, got.kind, len(got.body), err)
			}
		}
		if _, err := in.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

func TestFramesThatCannotBeAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		stream string
		want   error
	}{
		"empty":           {"\x00\x00\x00\x00J", errFrame},
		"above the limit": {"\x02\x00\x00\x01J", errFrame},
		"cut in its head": {"\x00\x00", io.ErrUnexpectedEOF},
		"cut":             {"\x00\x00\x00\x09Vabc", io.ErrUnexpectedEOF},
		"cut, long":       {"\x01\x00\x00\x00Vabc", io.ErrUnexpectedEOF},
		"nothing":         {"", io.EOF},
	} {
		if _, err := newFrameReader(strings.NewReader(tt.stream)).next(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestMoreKnowsWhetherAFrameIsWhole(t *testing.T) {
	stream := appendFrame(appendFrame(nil, pongFrame, "a"), pongFrame, "b")
	in := newFrameReader(bytes.NewReader(stream[:len(stream)-1]))
	if _, err := in.next(); err != nil || in.more() {
		t.Errorf("more, with half a frame: %v", err)
	}
	in = newFrameReader(bytes.NewReader(stream))
	if _, err := in.next(); err != nil || !in.more() {
		t.Errorf("no more, with a whole frame: %v", err)
	}
}

// FuzzFrame: whatever arrives is read as frames or refused, never beyond its limit; and what is put together from
// the frames that were read is what arrived.
func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, verdictFrame, "\x00\x00\x00\x01{}"), byeFrame, `{"why":"end"}`))
	f.Add([]byte("\xff\xff\xff\xffV"))
	f.Add(appendJob(nil, 1, compat.Job{}, "", compat.TraceContext{}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := newFrameReader(bytes.NewReader(stream))
		var again []byte
		for {
			frame, err := in.next()
			if err != nil {
				break
			}
			again = appendFrame(again, frame.kind, string(frame.body))
			if id, rest, err := frame.job(); err == nil && len(rest)+4 != len(frame.body) {
				t.Errorf("id %d and %d bytes of %d", id, len(rest), len(frame.body))
			}
			in.more()
		}
		if !bytes.HasPrefix(stream, again) {
			t.Errorf("read %q from %q", again, stream)
		}
	})
}
