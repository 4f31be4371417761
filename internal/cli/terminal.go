package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a terminal that a verb writes to or reads keys from.
type terminal struct{ file *os.File }

// terminalOf returns the terminal that stream is, or nil.
func terminalOf(stream any) *terminal {
	file, ok := stream.(*os.File)
	if !ok || file == nil {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return &terminal{file}
}

// size returns how many columns and lines there are; a terminal that does not say has the size of the first ones.
func (t *terminal) size() (columns, lines int) {
	w, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err != nil || w.Col == 0 || w.Row == 0 {
		return 80, 24
	}
	return int(w.Col), int(w.Row)
}

// keyPatience is how long a read waits for a key.
const keyPatience = 200 * time.Millisecond

// listen makes each key readable at once and unseen; the function it returns undoes that. Ctrl-C stays the signal it is.
func (t *terminal) listen() (undo func(), err error) {
	fd := int(t.file.Fd())
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	keys := *old
	keys.Lflag &^= unix.ICANON | unix.ECHO
	keys.Cc[unix.VSUSP] = 0                                             // stopped by Ctrl-Z it would leave the screen in its hands
	keys.Cc[unix.VMIN] = 0                                              // a read ends
	keys.Cc[unix.VTIME] = uint8(keyPatience / (100 * time.Millisecond)) // after so many tenths of a second
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &keys); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, old) }, nil
}

// key waits a moment for a key. open is false when there will be no more.
func (t *terminal) key() (key byte, open bool) {
	var b [1]byte
	asked := time.Now()
	n, _ := t.file.Read(b[:]) // nothing read is told as an end of file
	if n == 1 {
		return b[0], true
	}
	return 0, time.Since(asked) > keyPatience/2
}

// typed returns true when a line was typed, or false when ctx ends before.
func (t *terminal) typed(ctx context.Context) bool {
	for ctx.Err() == nil {
		wait := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(wait, int(keyPatience/time.Millisecond)); n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return true
		}
	}
	return false
}
