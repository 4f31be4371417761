package dash

import "time"

// Verbs of acts, as the audit trail spells them.
const (
	VerbReplay  = "replay"
	VerbDrop    = "drop"
	VerbRequeue = "requeue"
	VerbUndo    = "undo"
	VerbPause   = "pause"
	VerbResume  = "resume"
)

// Act says which jobs of a topic something is done with: those of Refs, or where there are none those dead ones that
// Filter leaves, all of them when it is zero too.
type Act struct {
	Topic     string     `json:"topic"`
	Key       string     `json:"key"` // of Keys
	Refs      []string   `json:"refs,omitempty"`
	Filter    DeadFilter `json:"filter,omitzero"`
	Limit     int        `json:"limit,omitempty"`      // by filter: 0 = as many as one request may take
	KeepRetry bool       `json:"keep_retry,omitempty"` // replay: leave its counter as it is
}

// Selection is what an act would take.
type Selection struct {
	Count  int64    `json:"count"`
	More   bool     `json:"more,omitempty"`   // there may be more: only so many were looked at
	Sample []JobRow `json:"sample,omitempty"` // the first few
	Gone   int      `json:"gone,omitempty"`   // refs that are not there any more
}

// Result is what an act did.
type Result struct {
	Count   int64  `json:"count"`
	Gone    int    `json:"gone,omitempty"`    // selected, and not there any more
	Skipped int    `json:"skipped,omitempty"` // left alone: no job that could run
	More    bool   `json:"more,omitempty"`    // others are left that the filter takes
	Undo    string `json:"undo,omitempty"`    // what Undo takes; "" = cannot be undone
	File    string `json:"file,omitempty"`    // where the texts were written
}

// LongestPause is how long a pause with an end may last.
const LongestPause = 366 * 24 * time.Hour

// PauseOrder pauses a topic.
type PauseOrder struct {
	Topic  string  `json:"topic"`
	For    Seconds `json:"for_seconds,omitempty"` // 0 = until it is resumed
	Reason string  `json:"reason,omitempty"`
}

// AuditLine is something that somebody did.
type AuditLine struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Verb   string    `json:"verb"`
	Topic  string    `json:"topic,omitempty"`
	Count  int64     `json:"count,omitempty"`
	Filter string    `json:"filter,omitempty"`
	UUID   string    `json:"uuid,omitempty"`
	File   string    `json:"file,omitempty"`
	Note   string    `json:"note,omitempty"` // what else there is to say: for how long, and why
	Undo   string    `json:"undo,omitempty"` // what Undo takes, while it can be undone
}
