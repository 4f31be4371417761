package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNoListener reports that nobody on this host listens there, or that /proc hides who does.
var ErrNoListener = errors.New("no process of this host is seen to listen there")

// Listener returns the pid of the process that listens on a TCP port of this host. Of a parent and its children, who
// share the socket, it is the parent.
func Listener(port int) (pid int, err error) {
	sockets := listening(port)
	if len(sockets) == 0 {
		return 0, ErrNoListener
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	var holders []int
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !slices.Contains(sockets, to) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil && !slices.Contains(holders, pid) {
			holders = append(holders, pid)
		}
	}
	for _, pid := range holders {
		if stat, err := Read(pid); err == nil && !slices.Contains(holders, stat.Parent) {
			return pid, nil
		}
	}
	return 0, ErrNoListener
}

// listening returns the sockets that listen on port, as links in /proc/<pid>/fd name them.
func listening(port int) (links []string) {
	local := fmt.Sprintf(":%04X", port)
	for s := range Sockets() {
		if s.Listens && strings.HasSuffix(s.Local, local) {
			links = append(links, s.Link)
		}
	}
	return links
}

// Command returns the arguments that pid runs with, or the title it gave itself.
func Command(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")), err
}
