package faults

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// old is who, of runs by the old consumer.
const old = "old"

// run is one run of a job.
type run struct {
	uuid, who  string
	pid        int
	start, end time.Time // end is zero while no line says that it ended
	retry      int       // the job's, at this run
	verdict    string    // what the script said last: done, failed, rejected; "" without an end
}

func (r run) done() bool { return r.verdict == "done" }

// ledger is what the job scripts of a shop wrote, read as it grows.
type ledger struct {
	t       testing.TB
	path    string
	oldLogs string // prefix of the old consumer's

	mu     sync.Mutex
	offset int64                  // guarded by mu: up to where the file has been read
	runs   []*run                 // guarded by mu, in the order of their starts
	open   map[string]*run        // guarded by mu: those without an end, by what their lines have in common
	starts map[string][]time.Time // guarded by mu, by who
}

func newLedger(t testing.TB, path, oldLogs string) *ledger {
	return &ledger{t: t, path: path, oldLogs: oldLogs, open: make(map[string]*run), starts: make(map[string][]time.Time)}
}

// read takes in what was written since the last call.
func (l *ledger) read() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := readFrom(l.path, l.offset)
	if err != nil {
		l.t.Error(err)
		return
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest of the last line comes later
	l.offset += int64(len(text))
	for line := range strings.Lines(string(text)) {
		if err := l.add(strings.Fields(line)); err != nil {
			l.t.Errorf("the ledger says %q: %v", line, err)
		}
	}
}

func readFrom(path string, offset int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == offset {
		return nil, err
	}
	text := make([]byte, info.Size()-offset)
	_, err = f.ReadAt(text, offset)
	return text, err
}

// add takes in one line: S uuid who pid start retry crashes, or E uuid who pid start end verdict.
func (l *ledger) add(fields []string) error {
	if len(fields) != 7 {
		return fmt.Errorf("%d fields, want 7", len(fields))
	}
	numbers := make([]int64, 3)
	for i, field := range fields[3:6] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	key := strings.Join(fields[1:5], " ")
	switch fields[0] {
	case "S":
		r := &run{uuid: fields[1], who: fields[2], pid: int(numbers[0]), start: time.UnixMicro(numbers[1]), retry: int(numbers[2])}
		l.runs, l.open[key] = append(l.runs, r), r
		l.starts[r.who] = append(l.starts[r.who], r.start)
	case "E":
		r := l.open[key]
		if r == nil {
			return fmt.Errorf("an end without a start")
		}
		r.end, r.verdict = time.UnixMicro(numbers[2]), fields[6]
		delete(l.open, key)
	default:
		return fmt.Errorf("neither S nor E")
	}
	return nil
}

// firstStart returns when a job of that sidecar started first after the given time, as far as the ledger was read.
func (l *ledger) firstStart(who string, after time.Time) (first time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	starts := l.starts[who]
	for i := len(starts) - 1; i >= max(0, len(starts)-10_000); i-- {
		// The lines come nearly in the order of time, so a few older ones are looked at, too.
		if starts[i].After(after) && (first.IsZero() || starts[i].Before(first)) {
			first = starts[i]
		}
		if after.Sub(starts[i]) > time.Second {
			break
		}
	}
	return first, !first.IsZero()
}

// running returns the runs that have started within the last seconds and not ended.
func (l *ledger) running() []run {
	l.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []run
	for r := range maps.Values(l.open) {
		if time.Since(r.start) < 5*time.Second {
			list = append(list, *r)
		}
	}
	return list
}

// byJob returns all runs, the old consumer's too, by uuid and in the order of their starts.
func (l *ledger) byJob() map[string][]run {
	l.t.Helper()
	l.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs := make(map[string][]run)
	for _, r := range l.runs {
		jobs[r.uuid] = append(jobs[r.uuid], *r)
	}
	for _, r := range l.oldRuns() {
		jobs[r.uuid] = append(jobs[r.uuid], r)
	}
	for _, runs := range jobs {
		slices.SortFunc(runs, func(a, b run) int { return a.start.Compare(b.start) })
	}
	return jobs
}

// oldRuns reads the old consumer's logs: S uuid start_ms due_ms pid, and E uuid end_ms pid where it ended well.
func (l *ledger) oldRuns() []run {
	l.t.Helper()
	files, _ := filepath.Glob(l.oldLogs + ".*[0-9]") // the pattern is ours
	var runs []run
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			l.t.Error(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			switch {
			case len(f) == 5 && f[0] == "S":
				pid, _ := strconv.Atoi(f[4])
				runs = append(runs, run{uuid: f[1], who: old, pid: pid, start: atMS(f[2])})
			case len(f) == 4 && f[0] == "E" && len(runs) > 0: // one worker runs one job at a time
				runs[len(runs)-1].end, runs[len(runs)-1].verdict = atMS(f[2]), "done"
			default:
				l.t.Errorf("%s says %q", path, line)
			}
		}
	}
	return runs
}

func atMS(text string) time.Time {
	ms, _ := strconv.ParseFloat(text, 64)
	return time.UnixMicro(int64(ms * 1000))
}
