package undo_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/undo"
	"sidecar/queue"
)

var head = undo.Head{Verb: queue.VerbDrop, Topic: "{order}/timeout", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), By: "cli ann@web1"}

func move(ticket string) queue.HandMove {
	return queue.HandMove{Topic: head.Topic, Verb: head.Verb, Ticket: ticket, Record: []byte("no text: \xff " + ticket)}
}

// create writes a file with moves, of which the first ones were taken.
func create(t *testing.T, dir string, taken int, tickets ...string) string {
	t.Helper()
	w, err := undo.Create(dir, head)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]queue.MoveResult)
	for i, ticket := range tickets {
		if err := w.Plan([]queue.HandMove{move(ticket)}); err != nil {
			t.Fatal(err)
		}
		if i < taken {
			made[ticket] = queue.Taken
		}
	}
	w.Made(made)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Path()
}

// pending returns the tickets that are to be taken back, "?" behind those of which the file does not know whether they were taken.
func pending(t *testing.T, path string) (tickets []string) {
	t.Helper()
	l, err := undo.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nothing was written
	for moves, err := range l.Pending(2) {
		if err != nil || len(moves) > 2 {
			t.Fatalf("%d moves at once, %v", len(moves), err)
		}
		for _, m := range moves {
			if string(m.Move.Record) != string(move(m.Move.Ticket).Record) {
				t.Errorf("%s holds %q", m.Move.Ticket, m.Move.Record)
			}
			if m.Known {
				tickets = append(tickets, m.Move.Ticket)
			} else {
				tickets = append(tickets, m.Move.Ticket+"?")
			}
		}
	}
	return tickets
}

func TestAFileSaysWhatIsToBeTakenBack(t *testing.T) {
	t.Parallel()
	path := create(t, t.TempDir(), 2, "a", "b", "c")
	if filepath.Base(path) != "sidecar-undo-_order__timeout-20261130T120000Z.jsonl" {
		t.Errorf("it is named %s", path)
	}
	if got, want := pending(t, path), []string{"a", "b", "c?"}; !slices.Equal(got, want) {
		t.Errorf("to be taken back: %q, want %q", got, want)
	}
}

func TestALineThatWasCutOffIsLeftOut(t *testing.T) {
	t.Parallel()
	path := create(t, t.TempDir(), 1, "a", "b")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	planned, _, _ := strings.Cut(string(text), `{"made"`)
	for cut := 1; cut < 40; cut += 13 { // killed while it wrote down b
		if err := os.WriteFile(path, []byte(planned[:len(planned)-cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first time takes away what is left of b
			if got := pending(t, path); !slices.Equal(got, []string{"a?"}) {
				t.Errorf("%d bytes cut off: %q", cut, got)
			}
		}
	}
}

func TestFilesThatAreNoneOfOursAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "is empty",
		"{\"sidecar_undo\":1":                 "is empty", // not even its first line was written to the end
		"[redis]\n":                           "is no undo file",
		"{\"sidecar_undo\":7}\n":              "has the form 7",
		"{\"sidecar_undo\":1}\n{":             "", // nothing was begun
		"{\"sidecar_undo\":1}\nrubbish\n{}\n": "line 2 of",
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := undo.Open(path)
		switch {
		case err == nil && want == "":
			_ = l.Close()
		case err == nil || want == "" || !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestOneProcessAtATimeWorksWithAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := undo.Create(dir, head)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := undo.Open(w.Path()); !errors.Is(err, undo.ErrBusy) {
		t.Errorf("open beside its writer: %v", err)
	}
	other, err := undo.Create(dir, head)
	if err != nil || other.Path() == w.Path() || !strings.HasSuffix(other.Path(), "-2.jsonl") {
		t.Errorf("a second file of that second: %v, %s", err, other.Path())
	}
	if err := errors.Join(w.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	if _, err := undo.Create(filepath.Join(dir, "none"), head); err == nil {
		t.Error("created in a directory that is not there")
	}
}
