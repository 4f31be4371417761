package proc

import (
	"iter"
	"os"
	"strings"
)

// Socket is a TCP socket that a process of this host holds, as /proc/net/tcp and tcp6 show it.
type Socket struct {
	Local, Remote string // each 32 bits of the IP in the host's order, and behind a colon the port, all in hex
	Listens       bool
	Link          string // what a link in /proc/<pid>/fd of its holder says
}

// Sockets yields all TCP sockets of this host's network namespace. Where they cannot be read there are none.
func Sockets() iter.Seq[Socket] {
	return func(yield func(Socket) bool) {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			text, err := os.ReadFile(table)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				f := strings.Fields(line) // number, local, remote, state, …, inode
				if len(f) < 10 || f[9] == "0" {
					continue // nobody holds it any more
				}
				if !yield(Socket{Local: f[1], Remote: f[2], Listens: f[3] == "0A", Link: "socket:[" + f[9] + "]"}) {
					return
				}
			}
		}
	}
}
