package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// Writer writes a file while moves are made.
type Writer struct {
	file *os.File
	path string
	size int64 // of the lines that stand in it whole

	unsaid map[string]string // what became of moves, by ticket, and could not be written down yet
	torn   error             // what a failed write has left could not be cut off: nothing may follow it
}

// ErrBusy reports a file that another process works with.
var ErrBusy = errors.New("another process works with this file")

// Create begins the file of what head says, in dir, under a name of its own that says topic and time.
func Create(dir string, head Head) (*Writer, error) {
	head.Version, head.At = Version, head.At.UTC()
	base := filepath.Join(dir, fmt.Sprintf("sidecar-undo-%s-%s", plainName(head.Topic), head.At.Format("20060102T150405Z")))
	for n := 1; ; n++ {
		path := base + ".jsonl"
		if n > 1 {
			path = fmt.Sprintf("%s-%d.jsonl", base, n)
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the undo file: %w", err)
		}
		giveAway(file, dir)
		w := &Writer{file: file, path: path}
		if err := w.begin(dir, head); err != nil {
			return nil, errors.Join(err, w.remove())
		}
		return w, nil
	}
}

// begin locks the file and writes its first line, and its name into the directory, for good.
func (w *Writer) begin(dir string, head Head) error {
	if err := lock(w.file); err != nil {
		return err
	}
	if err := w.write(true, head); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// Path is where the file is.
func (w *Writer) Path() string { return w.path }

// Plan writes moves down that are about to be made. When it returns they are on the disk.
func (w *Writer) Plan(moves []queue.HandMove) error {
	lines := make([]any, len(moves))
	for i := range moves {
		lines[i] = line{Move: &moves[i]}
	}
	return w.write(true, lines...)
}

// Made writes down what became of moves, by their tickets. It need not reach the disk: Redis knows it, too. What cannot be written
// goes with the next call, or with Close, which says so then.
func (w *Writer) Made(results map[string]queue.MoveResult) {
	said := make(map[string]string, len(results)+len(w.unsaid))
	for ticket, r := range results {
		said[ticket] = r.String()
	}
	maps.Copy(said, w.unsaid)
	w.unsaid = said
	_ = w.sayMade()
}

func (w *Writer) sayMade() error {
	if len(w.unsaid) == 0 {
		return nil
	}
	if err := w.write(false, line{Made: w.unsaid}); err != nil {
		return err
	}
	w.unsaid = nil
	return nil
}

// undone writes down what became of taking moves back. When it returns it is on the disk.
func (w *Writer) undone(results map[string]queue.UndoResult) error {
	if len(results) == 0 {
		return nil
	}
	said := make(map[string]string, len(results))
	for ticket, r := range results {
		said[ticket] = r.String()
	}
	return w.write(true, line{Undone: said})
}

// Close ends the file.
func (w *Writer) Close() error {
	err := w.sayMade()
	if err != nil {
		err = fmt.Errorf("what became of the last %s is known to redis only: %w", plural.Of(len(w.unsaid), "move", "moves"), err)
	}
	if syncErr := w.file.Sync(); syncErr != nil {
		err = errors.Join(err, fmt.Errorf("sync %s: %w", w.path, syncErr))
	}
	if closeErr := w.letGo(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", w.path, closeErr))
	}
	return err
}

// letGo ends the lock by itself: a process that was forked off just now would hold it on, until it is another program.
func (w *Writer) letGo() error {
	return errors.Join(syscall.Flock(int(w.file.Fd()), syscall.LOCK_UN), w.file.Close())
}

// remove ends a file by which nothing could be taken back.
func (w *Writer) remove() error {
	if err := errors.Join(w.letGo(), os.Remove(w.path)); err != nil {
		return fmt.Errorf("remove %s, which undoes nothing: %w", w.path, err)
	}
	return nil
}

// write appends lines: all of them, or, where the disk is full, none.
func (w *Writer) write(sync bool, lines ...any) error {
	if w.torn != nil {
		return w.torn
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("write %s: %w", w.path, err)
		}
	}
	err := w.add(b.Bytes(), sync)
	if err == nil {
		w.size += int64(b.Len())
		return nil
	}
	if cutErr := w.file.Truncate(w.size); cutErr != nil {
		w.torn = errors.Join(err, fmt.Errorf("cut the unfinished lines off %s: %w", w.path, cutErr))
		return w.torn
	}
	return err
}

func (w *Writer) add(text []byte, sync bool) error {
	if _, err := w.file.Write(text); err != nil {
		return fmt.Errorf("write to the undo file: %w", err) // it names the file
	}
	if !sync {
		return nil
	}
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("write to the undo file: %w", err)
	}
	return nil
}

// lock keeps other processes off the file until it is closed.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", file.Name(), ErrBusy)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}

// plainName is a topic's name as a file may bear it.
func plainName(topic string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, topic)
}
