package admin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
	"sidecar/internal/testenv"
)

// served starts a side and returns its address; it stops with the test.
func served(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	ready := func(context.Context) []string { return nil }
	go func() {
		defer close(over)
		admin.Serve(ctx, ln, admin.Handler(prometheus.NewRegistry(), ready, noHolds, none, "v-test"), slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return ln.Addr().String()
}

// say sends text on a connection of its own and returns the status line, "" when it was hung up on.
func say(t *testing.T, addr, text string) string {
	t.Helper()
	c := connect(t, addr)
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, text) // it may have been answered before it was all sent
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOnlyShortRequestsThatReadAreAnswered(t *testing.T) {
	addr := served(t)
	request := func(method, headers, body string) string {
		return fmt.Sprintf("%s /healthz HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", method, headers, body)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"GET":             {request("GET", "", ""), "200 OK"},
		"HEAD":            {request("HEAD", "", ""), "200 OK"},
		"POST":            {request("POST", "Content-Length: 0\r\n", ""), "405 Method Not Allowed"},
		"DELETE":          {request("DELETE", "", ""), "405 Method Not Allowed"},
		"TRACE":           {request("TRACE", "", ""), "405 Method Not Allowed"},
		"a body":          {request("GET", "Content-Length: 1000000000\r\n", "x"), "413 Request Entity Too Large"},
		"a chunked body":  {request("GET", "Transfer-Encoding: chunked\r\n", "5\r\nxxxxx\r\n"), "413 Request Entity Too Large"},
		"long headers":    {request("GET", "X: "+strings.Repeat("x", 64<<10)+"\r\n", ""), "431 Request Header Fields Too Large"},
		"no HTTP":         {"\x16\x03\x01\x00\xa5\r\n\r\n", "400 Bad Request"},
		"a proxy's words": {"GET http://other/healthz HTTP/1.1\r\nHost: other\r\n\r\n", "200 OK"}, // nothing is fetched for anybody
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimPrefix(say(t, addr, tt.text), "HTTP/1.1 "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Slow clients cost a bounded number of descriptors, and only for as long as a request may take.
func TestSlowClientsHoldFewDescriptorsAndNotForLong(t *testing.T) {
	addr := served(t)
	const clients = 100
	before := descriptors(t)
	for range clients {
		c := connect(t, addr)
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: "); err != nil {
			t.Fatal(err)
		}
	}
	// Half of each connection is ours.
	if taken := descriptors(t) - before - clients; taken > 64+8 {
		t.Errorf("%d slow clients take %d descriptors", clients, taken)
	}
	client := &http.Client{Timeout: 60 * time.Second}
	testenv.Poll(t, 60*time.Second, "a probe to be answered", func() bool {
		resp, err := client.Get("http://" + addr + "/healthz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
