// Package undo replays and drops dead jobs, and requeues waiting ones, so that it can be taken back, and takes it back: an [Act] moves, a [Log] undoes. Commands and
// dashboard both do it by these.
//
// What is done stands in a file.
// It is JSON lines. The first says what was asked for. Before jobs are moved each move is written down and synced
// to disk; behind the moves stands what became of each. So a process that is killed at any moment leaves a file that names every job it may
// have moved, and each move knows by its ticket whether it was made (docs/decisions/0021). Whatever takes the moves back
// writes that into the same file, and may be killed and begun again, too. The file holds jobs whole: it is readable by
// its owner only.
package undo

import (
	"time"

	"sidecar/queue"
)

// Version is that of the file's form.
const Version = 1

// Head is the first line: what was asked for.
type Head struct {
	Version   int         `json:"sidecar_undo"`
	Verb      string      `json:"verb"` // queue.VerbReplay, queue.VerbDrop, queue.VerbRequeue
	Topic     string      `json:"topic"`
	KeyPrefix string      `json:"key_prefix"`
	Redis     *queue.Home `json:"redis,omitempty"` // where that was; nil: the file is of a version that did not say
	At        time.Time   `json:"at"`              // by Redis's clock
	By        string      `json:"by"`
	Filter    string      `json:"filter,omitempty"`
}

// line is any line but the first: it has one of these.
type line struct {
	Move   *queue.HandMove   `json:"move,omitempty"`   // is about to be made
	Made   map[string]string `json:"made,omitempty"`   // by ticket: what became of it
	Undone map[string]string `json:"undone,omitempty"` // by ticket: what became of taking it back
}
