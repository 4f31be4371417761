package fastcgi

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"sidecar/internal/proc"
)

// child is the child of FPM that said hello on a connection, once it is certain that a pid of this host is that one.
type child struct {
	process *os.Process // holds a pidfd, where the kernel has them: its pid cannot become another's
	first   proc.Stat   // as it was when it was found
}

// findChild makes sure that pid is the child that said hello on conn, age ago: a pid comes from PHP code and may be
// another's in another pid namespace, and we may be root. Whoever is found must be released.
//
// A connection that is still open does not mean that its child is alive: whatever the script has started holds it, too.
func findChild(pid int, age time.Duration, conn net.Conn) (*child, error) {
	if pid <= 1 {
		return nil, errNotOurs
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	c := &child{process: process}
	if err := c.check(age, conn); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

func (c *child) check(age time.Duration, conn net.Conn) (err error) {
	c.first, err = proc.Read(c.process.Pid)
	if err != nil {
		return errNoSuchChild
	}
	if age > 0 && youngerThan(age, c.first) {
		return fmt.Errorf("%w: it is younger than the run", errNotOurs)
	}
	return isPeer(conn, c.process.Pid, c.first.Parent)
}

// gone reports that the child runs no more, although its pid may be another's by now.
func (c *child) gone() bool {
	if errors.Is(c.process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return true
	}
	now, err := proc.Read(c.process.Pid)
	return err == nil && (now.Ended || !now.Same(c.first))
}

// kill ends the child at once. One that has ended before is ended, too.
func (c *child) kill() error {
	if c.gone() { // without a pidfd the signal could meet the pid's next owner
		return nil
	}
	err := c.process.Signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (c *child) release() {
	if c != nil {
		_ = c.process.Release()
	}
}
