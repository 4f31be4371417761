package fastcgi

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHeadersAreReadHoweverTheyAreCut(t *testing.T) {
	tests := map[string]struct {
		stream string
		status int
		body   string
	}{
		"none given":          {"Content-type: text/html\r\n\r\nbody", 0, "body"},
		"a status":            {"Status: 404 Not Found\r\nX: y\r\n\r\nbody\r\n\r\nmore", 404, "body\r\n\r\nmore"},
		"bare line feeds":     {"status:503\n\nbody", 503, "body"},
		"no reason":           {"Status: 500\r\n\r\n", 500, ""},
		"nonsense":            {"Status: ok\r\n\r\nbody", 0, "body"},
		"no end of headers":   {"Status: 500\r\nX: y", 500, ""},
		"a long line":         {"X: " + strings.Repeat("Status: 500 ", 9000) + "\r\nStatus: 201\r\n\r\nbody", 201, "body"},
		"a status in a value": {"X-Status: 500\r\nY: Status: 500\r\n\r\nStatus: 500", 0, "Status: 500"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, 100, len(tt.stream)} {
				r := newReply(newNonce(), 1000)
				for rest := []byte(tt.stream); len(rest) > 0; {
					n := min(size, len(rest))
					r.addStdout(rest[:n])
					rest = rest[n:]
				}
				if r.status != tt.status || string(r.out.head) != tt.body {
					t.Errorf("in pieces of %d: status %d, body %q", size, r.status, r.out.head)
				}
			}
		})
	}
}

// recordOf is a record with padding, as FPM sends them.
func recordOf(kind recordType, content string, padding int) []byte {
	head := []byte{recordVersion, byte(kind), 0, 1, 0, 0, byte(padding), 0}
	binary.BigEndian.PutUint16(head[4:], uint16(len(content)))
	return append(append(head, content...), make([]byte, padding)...)
}

func TestRecordsAreReadFromAnyReader(t *testing.T) {
	long := strings.Repeat("x", 65535)
	stream := bytes.Join([][]byte{recordOf(stdout, long, 1), recordOf(stderr, "", 0), recordOf(stdout, "abc", 5), recordOf(endRequest, "12345678", 0)}, nil)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its error": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReaderSize(wrap(bytes.NewReader(stream)), 4096)
			got := map[recordType][]byte{}
			for {
				head, err := readHeader(r)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := readContent(r, head, func(p []byte) { got[head.kind] = append(got[head.kind], p...) }); err != nil {
					t.Fatal(err)
				}
			}
			if string(got[stdout]) != long+"abc" || string(got[endRequest]) != "12345678" {
				t.Errorf("stdout %d bytes, end %q", len(got[stdout]), got[endRequest])
			}
		})
	}
}

func TestCutRecordsAreErrors(t *testing.T) {
	whole := recordOf(stdout, "content", 3)
	for n := 1; n < len(whole); n++ {
		r := bufio.NewReader(bytes.NewReader(whole[:n]))
		head, err := readHeader(r)
		if err == nil {
			err = readContent(r, head, func([]byte) {})
		}
		if err == nil {
			t.Errorf("%d of %d bytes are taken for a record", n, len(whole))
		}
	}
	if _, err := readHeader(bufio.NewReader(strings.NewReader("HTTP/1.1"))); !errors.Is(err, errNotFastCGI) {
		t.Errorf("HTTP: %v", err)
	}
}

func TestOutputIsCutWithANote(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		size  int64
		want  string
	}{
		{"whole", 10, 5, "whole"},
		{"", 0, 0, ""},
		{"the head", 8, 100, "the head\n[cut: 8 of 100 bytes, output_limit]"},
		{"too long", 3, 8, "too\n[cut: 3 of 8 bytes, output_limit]"},
	} {
		if got := string(cut([]byte(tt.text), tt.limit, tt.size)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestLastCharsCutsNoCharacter(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "", 3: "界", 4: "界", 6: "世界", 9: "世界"} {
		if got := string(lastChars([]byte("世界"), n)); got != want {
			t.Errorf("the last %d bytes: %q, want %q", n, got, want)
		}
	}
}
