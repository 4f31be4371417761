package undo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"sidecar/queue"
)

// Log is a file of moves that can be taken back.
type Log struct {
	Head Head

	Moves  int // planned
	Undone int // of these, taken back, or known to need nothing

	w      *Writer
	states map[string]state // by ticket
	last   []string         // tickets: those that Redis forgets last
}

// state is what the file says of a move.
type state struct{ taken, ended bool }

// Open reads the file at path, and keeps other processes off it. A last line that is cut off is left out: then nothing of
// what it says was begun.
func Open(path string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("open the undo file: %w", err)
	}
	l := &Log{w: &Writer{file: file, path: path}, states: make(map[string]state)}
	err = lock(file)
	if err == nil {
		err = l.read()
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return l, nil
}

// read takes in what the file says of each move, and cuts off what was not written to its end.
func (l *Log) read() error {
	n := 0
	for text, err := range l.lines() {
		n++
		var one line
		switch {
		case err != nil:
			return err
		case n == 1:
			err = l.readHead(text)
		default:
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			return fmt.Errorf("line %d of %s: %w", n, l.w.path, err)
		}
		l.note(one)
		l.w.size += int64(len(text))
	}
	if l.Head.Version == 0 {
		return fmt.Errorf("%s is empty: nothing was moved", l.w.path)
	}
	if err := l.w.file.Truncate(l.w.size); err != nil {
		return fmt.Errorf("cut the unfinished line off %s: %w", l.w.path, err)
	}
	return nil
}

func (l *Log) readHead(text []byte) error {
	if err := json.Unmarshal(text, &l.Head); err != nil || l.Head.Version == 0 {
		return errors.New("it says no sidecar_undo: this is no undo file of the sidecar")
	}
	if l.Head.Version != Version {
		return fmt.Errorf("it has the form %d, this sidecar knows %d: take the one that wrote it", l.Head.Version, Version)
	}
	return nil
}

// note takes in one line.
func (l *Log) note(one line) {
	if one.Move != nil {
		l.Moves++
		l.states[one.Move.Ticket] = state{}
		l.last = append(l.last, one.Move.Ticket)
		l.last = l.last[max(0, len(l.last)-lastMost):]
	}
	for ticket, result := range one.Made {
		s := l.states[ticket]
		s.taken = result == queue.Taken.String() || result == queue.TakenBefore.String()
		if !s.taken {
			s.ended = true // it stayed in dead, or somebody else took it
			l.Undone++
		}
		l.states[ticket] = s
	}
	for ticket, result := range one.Undone {
		s := l.states[ticket]
		if !s.ended && result != queue.Started.String() { // that one may be asked for again
			s.ended = true
			l.Undone++
		}
		l.states[ticket] = s
	}
}

// lines are the whole lines of the file, each with its end, as it was when they were begun.
func (l *Log) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		info, err := l.w.file.Stat()
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", l.w.path, err))
			return
		}
		r := bufio.NewReaderSize(io.NewSectionReader(l.w.file, 0, info.Size()), 1<<16)
		for {
			text, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", l.w.path, err))
				return
			}
			if !yield(text, nil) {
				return
			}
		}
	}
}

// Close lets go of the file.
func (l *Log) Close() error { return l.w.Close() }
