package fastcgi

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// codeEvery is how old what is known of the code may be when a job is given to a worker.
const codeEvery = 50 * time.Millisecond

// stamp tells one state of a topic's code from another, as far as this host can see it: a line for each of its files.
// "" is none.
type stamp string

// codeWatch looks whether scripts or bootstrap have changed, at most every [codeEvery].
type codeWatch struct {
	chroot string
	files  []string
	born   time.Time
	looked atomic.Int64 // since born

	last stamp // guarded by crew.mu
}

func newCodeWatch(chroot string, files []string) *codeWatch {
	w := &codeWatch{chroot: chroot, files: files, born: time.Now()}
	w.looked.Store(-int64(codeEvery))
	return w
}

// due reports that it is time to look, to one of those who ask.
func (w *codeWatch) due(now time.Time) bool {
	at, last := int64(now.Sub(w.born)), w.looked.Load()
	return at-last >= int64(codeEvery) && w.looked.CompareAndSwap(last, at)
}

// look returns the code's state, as codeOf does.
func (w *codeWatch) look() (stamp, bool) { return codeOf(w.chroot, w.files) }

// codeOf returns the state of files; false where one cannot be seen: elsewhere, or being replaced just now.
func codeOf(chroot string, files []string) (stamp, bool) {
	at := newFollower(chroot)
	var text []byte
	for _, path := range files {
		end := at.follow(path)
		stat, err := os.Stat(filepath.Join(chroot, end))
		if err != nil {
			return "", false
		}
		text = fmt.Appendf(text, "%q %d %d", end, stat.Size(), stat.ModTime().UnixNano()) //nolint:forbidigo // compared, never reckoned with
		if sys, ok := stat.Sys().(*syscall.Stat_t); ok {
			text = fmt.Appendf(text, " %d %d", sys.Dev, sys.Ino)
		}
		text = append(text, '\n')
	}
	return stamp(text), true
}
