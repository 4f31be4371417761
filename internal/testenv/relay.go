package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What a relay does with a command, where it does not just answer.
const (
	Forward  = "forward"   // passes it on
	HangUp   = "hang up"   // closes the connection at once
	CutReply = "cut reply" // passes it on and closes the connection when the reply comes
	Hang     = "hang"      // gives no answer, the connection stays
)

// Relay is a small scripted peer that speaks RESP. With an upstream it is a proxy before it.
type Relay struct {
	Addr     string                        // host:port
	upstream func() string                 // nil: none
	answer   func(command []string) string // the raw reply, or one of the constants

	mu   sync.Mutex // guards what follows
	seen []string   // the commands, in order
}

// NewRelay starts a relay. Each connection asks upstream for the server it goes to; nil is none. answer is called for
// each command, its name in lower case, from several goroutines.
func NewRelay(t testing.TB, upstream func() string, answer func(command []string) string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Addr: l.Addr().String(), upstream: upstream, answer: answer}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { r.serve(conn, stop) })
		}
	})
	t.Cleanup(func() {
		close(stop)
		_ = l.Close()
		wg.Wait()
	})
	return r
}

// Commands returns the names of the commands seen so far.
func (r *Relay) Commands() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// Count returns how often a command was seen.
func (r *Relay) Count(name string) int {
	n := 0
	for _, seen := range r.Commands() {
		if seen == name {
			n++
		}
	}
	return n
}

func (r *Relay) serve(client net.Conn, stop <-chan struct{}) {
	defer func() { _ = client.Close() }()
	gone := make(chan struct{})
	defer close(gone)
	go func() { // ends with this connection
		select {
		case <-stop:
		case <-gone:
		}
		_ = client.Close()
	}()
	var server net.Conn
	if r.upstream != nil {
		var err error
		if server, err = net.Dial("tcp", r.upstream()); err != nil {
			return
		}
		defer func() { _ = server.Close() }()
	}
	replies := bufio.NewReader(server)
	for commands := bufio.NewReader(client); ; {
		raw, command, err := readCommand(commands)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.seen = append(r.seen, command[0])
		r.mu.Unlock()
		switch answer := r.answer(command); answer {
		case HangUp:
			return
		case Hang:
		case Forward, CutReply:
			if _, err := server.Write(raw); err != nil {
				return
			}
			reply, err := readReply(replies)
			if err != nil || answer == CutReply {
				return
			}
			_, _ = client.Write(reply)
		default:
			_, _ = io.WriteString(client, answer)
		}
	}
}

// readCommand reads one command: its bytes, and its words, the first in lower case.
func readCommand(r *bufio.Reader) (raw []byte, words []string, err error) {
	var b bytes.Buffer
	n, err := readCount(r, &b)
	if err != nil {
		return nil, nil, err
	}
	for range n {
		size, err := readCount(r, &b)
		if err != nil {
			return nil, nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, nil, err
		}
		b.Write(word)
		words = append(words, string(word[:size]))
	}
	if len(words) == 0 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	words[0] = strings.ToLower(words[0])
	return b.Bytes(), words, nil
}

// readReply reads one whole reply, whatever its type.
func readReply(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return append(line, body...), err
	case '%':
		n *= 2
		fallthrough
	case '*', '>', '~':
		for range max(0, n) {
			part, err := readReply(r)
			if err != nil {
				return nil, err
			}
			line = append(line, part...)
		}
	}
	return line, nil
}

// readCount reads a line such as *3 or $5 and appends it to b.
func readCount(r *bufio.Reader, b *bytes.Buffer) (int, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return 0, err
	}
	b.Write(line)
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	if err != nil {
		return 0, fmt.Errorf("not RESP: %q", line)
	}
	return n, nil
}
