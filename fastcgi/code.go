package fastcgi

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// codeEvery is how old what is known of the code may be when a job is given to a worker.
const codeEvery = 50 * time.Millisecond

// fileStamp tells one state of a file from another.
type fileStamp struct {
	path     string // with symlinks followed
	dev, ino uint64
	size     int64
	changed  int64
}

// stamp tells one state of a topic's code from another, as far as this host can see it.
type stamp struct{ script, bootstrap fileStamp }

// codeWatch looks whether script or bootstrap have changed, at most every [codeEvery].
type codeWatch struct {
	chroot string
	opts   TopicOptions
	born   time.Time
	looked atomic.Int64 // since born

	last stamp // guarded by crew.mu
}

func newCodeWatch(chroot string, opts TopicOptions) *codeWatch {
	w := &codeWatch{chroot: chroot, opts: opts, born: time.Now()}
	w.looked.Store(-int64(codeEvery))
	return w
}

// due reports that it is time to look, to one of those who ask.
func (w *codeWatch) due(now time.Time) bool {
	at, last := int64(now.Sub(w.born)), w.looked.Load()
	return at-last >= int64(codeEvery) && w.looked.CompareAndSwap(last, at)
}

// look returns the code's state, as codeOf does.
func (w *codeWatch) look() (stamp, bool) { return codeOf(w.chroot, w.opts) }

// codeOf returns the state of a topic's code; false where a file cannot be seen: elsewhere, or being replaced just now.
func codeOf(chroot string, opts TopicOptions) (stamp, bool) {
	files := resolve(chroot, opts)
	script, scriptSeen := stampOf(chroot, files.script)
	bootstrap, bootstrapSeen := stampOf(chroot, files.bootstrap)
	return stamp{script, bootstrap}, scriptSeen && bootstrapSeen
}

func stampOf(chroot, path string) (fileStamp, bool) {
	if path == "" {
		return fileStamp{}, true
	}
	stat, err := os.Stat(filepath.Join(chroot, path))
	if err != nil {
		return fileStamp{}, false
	}
	s := fileStamp{path: path, size: stat.Size(), changed: stat.ModTime().UnixNano()} //nolint:forbidigo // compared, never reckoned with
	if sys, ok := stat.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(sys.Dev), sys.Ino
	}
	return s, true
}
