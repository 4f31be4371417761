package e2e

import (
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
)

// runLog is what handlers have noted in runs.log, of which each line is read once: tests ask every few milliseconds how
// far the runs are. Like its rig it is of the test's own goroutine.
type runLog struct {
	path  string
	until int64 // so many bytes have been read
	marks map[string]*marks
}

// marks is what was left with one mark, by which runs.
type marks struct {
	order []string       // in the order in which they did
	runs  map[string]int // how often each did
}

// of returns what was left with a mark so far.
func (l *runLog) of(t testing.TB, mark string) *marks {
	t.Helper()
	l.read(t)
	if m := l.marks[mark]; m != nil {
		return m
	}
	return &marks{}
}

// read takes the lines that were added. Handlers write each in one piece, so that what is there in part is not for long.
func (l *runLog) read(t testing.TB) {
	t.Helper()
	f, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err = f.Seek(l.until, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	added, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	added = added[:bytes.LastIndexByte(added, '\n')+1]
	l.until += int64(len(added))
	for line := range bytes.Lines(added) {
		if mark, uuid, ok := bytes.Cut(line[:len(line)-1], []byte(" ")); ok {
			l.note(string(mark), string(uuid))
		}
	}
}

func (l *runLog) note(mark, uuid string) {
	m := l.marks[mark]
	if m == nil {
		m = &marks{runs: make(map[string]int)}
		l.marks[mark] = m
	}
	m.order = append(m.order, uuid)
	m.runs[uuid]++
}

// runs counts the marks of each uuid in the handler's own log: "S" for started, "E" for ended.
func (r *rig) runs(mark string) map[string]int {
	r.t.Helper()
	runs := make(map[string]int) // the test's own, that it may add to
	maps.Copy(runs, r.log.of(r.t, mark).runs)
	return runs
}

// marked returns how many uuids have left a mark.
func (r *rig) marked(mark string) int {
	r.t.Helper()
	return len(r.log.of(r.t, mark).runs)
}

// order returns the uuids or job_ids of the runs that left that mark, in the order in which they did.
func (r *rig) order(mark string) []string {
	r.t.Helper()
	return slices.Clone(r.log.of(r.t, mark).order)
}
