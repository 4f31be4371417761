package proc_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidecar/internal/proc"
)

func TestASocketThatListensIsAmongTheSocketsWithItsLink(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	local := fmt.Sprintf(":%04X", l.Addr().(*net.TCPAddr).Port)
	var links []string
	for s := range proc.Sockets() {
		if s.Listens && strings.HasSuffix(s.Local, local) {
			links = append(links, s.Link)
		}
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) != 1 {
		t.Fatalf("links %q, %v, want one", links, err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == links[0] {
			return
		}
	}
	t.Errorf("%s is none of ours", links[0])
}
