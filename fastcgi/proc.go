package fastcgi

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/internal/proc"
)

var (
	// errNotOurs reports a pid that is not, or not for certain, the child that said hello.
	errNotOurs = errors.New("the pid is not for certain the child of this run")
	// errNoSuchChild reports a pid that nobody has.
	errNoSuchChild = errors.New("the child is gone")
)

// killChild kills the child that said hello on conn, age ago, if pid is that child for certain.
func killChild(pid int, age time.Duration, conn net.Conn) error {
	c, err := findChild(pid, age, conn)
	if err != nil {
		return err
	}
	defer c.release()
	return c.kill()
}

// youngerThan reports that the process is younger than age, by more than the clocks' grain, or that nobody knows.
func youngerThan(age time.Duration, stat proc.Stat) bool {
	own, err := stat.Age()
	return err != nil || own < age-100*time.Millisecond
}

// isPeer makes sure that pid is at the other end of conn: on a unix socket a child of the process that listens
// there, as the kernel knows it; on TCP the holder of the other socket.
func isPeer(conn net.Conn, pid, parent int) error {
	switch c := conn.(type) {
	case *net.UnixConn:
		listener, err := listenerPID(c)
		if err != nil {
			return err
		}
		if listener <= 1 || listener != parent { // 1: systemd opened the socket; 0: another namespace
			return fmt.Errorf("%w: its parent is %d, the socket's owner %d", errNotOurs, parent, listener)
		}
		return nil
	case *net.TCPConn:
		return holdsTCP(pid, c)
	}
	return errNotOurs
}

// listenerPID returns the pid of the process that listens at the other end: SO_PEERCRED of a connected client.
func listenerPID(c *net.UnixConn) (int, error) {
	cred, err := peerCred(c)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// holdsTCP makes sure that pid has the other end of c open. Only a child on this host can be found.
func holdsTCP(pid int, c *net.TCPConn) error {
	socket, err := peerSocket(c)
	if err != nil {
		return err
	}
	links, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil {
		return err
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == socket {
			return nil
		}
	}
	return fmt.Errorf("%w: it does not hold the connection", errNotOurs)
}

// peerSocket finds the socket at the other end of c in this host's tables, as links in /proc name it.
func peerSocket(c *net.TCPConn) (string, error) {
	theirs, ours := procAddrs(c.RemoteAddr()), procAddrs(c.LocalAddr())
	for s := range proc.Sockets() {
		if slices.Contains(theirs, s.Local) && slices.Contains(ours, s.Remote) {
			return s.Link, nil
		}
	}
	return "", fmt.Errorf("%w: the other end of the connection is not on this host", errNotOurs)
}

// procAddrs writes an address as /proc/net/tcp and tcp6 do: each 32 bits of the IP in the host's order, in hex.
func procAddrs(a net.Addr) []string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return nil
	}
	var forms []string
	for _, ip := range []net.IP{tcp.IP.To4(), tcp.IP.To16()} { // a v4 peer of a socket that listens on [::] is in tcp6
		words := slices.Clone(ip)
		for word := range slices.Chunk(words, 4) {
			slices.Reverse(word)
		}
		forms = append(forms, fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(words)), tcp.Port))
	}
	return forms
}
