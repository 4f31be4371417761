package queue_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What a fake server does with a command, where it does not just answer.
const (
	forward  = "forward"   // a proxy passes it on
	hangUp   = "hang up"   // the connection is closed at once
	cutReply = "cut reply" // a proxy passes it on and closes the connection when the reply comes
	hang     = "hang"      // no answer, the connection stays
)

// fake is a small scripted TCP peer that speaks RESP. With an upstream it is a proxy before it.
type fake struct {
	addr     string
	upstream func() string                 // nil: none
	answer   func(command []string) string // the raw reply, or one of the constants

	mu   sync.Mutex // guards what follows
	seen []string   // the commands, in order
}

// newFake starts a fake server. answer is called for each command, from several goroutines.
func newFake(t testing.TB, answer func(command []string) string) *fake {
	t.Helper()
	return newProxyTo(t, nil, answer)
}

// newProxy starts a fake server before the real one at upstream.
func newProxy(t testing.TB, upstream string, answer func(command []string) string) *fake {
	t.Helper()
	return newProxyTo(t, func() string { return upstream }, answer)
}

// newProxyTo is newProxy where each connection asks for the server it goes to.
func newProxyTo(t testing.TB, upstream func() string, answer func(command []string) string) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: l.Addr().String(), upstream: upstream, answer: answer}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { f.serve(conn, stop) })
		}
	})
	t.Cleanup(func() {
		close(stop)
		_ = l.Close()
		wg.Wait()
	})
	return f
}

// commands returns the names of the commands seen so far.
func (f *fake) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

// count returns how often a command was seen.
func (f *fake) count(name string) int {
	n := 0
	for _, seen := range f.commands() {
		if seen == name {
			n++
		}
	}
	return n
}

func (f *fake) serve(client net.Conn, stop <-chan struct{}) {
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
	if f.upstream != nil {
		var err error
		if server, err = net.Dial("tcp", f.upstream()); err != nil {
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
		f.mu.Lock()
		f.seen = append(f.seen, command[0])
		f.mu.Unlock()
		switch answer := f.answer(command); answer {
		case hangUp:
			return
		case hang:
		case forward, cutReply:
			if _, err := server.Write(raw); err != nil {
				return
			}
			reply, err := readReply(replies)
			if err != nil || answer == cutReply {
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
