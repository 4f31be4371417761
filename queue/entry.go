package queue

import (
	"math"
	"strconv"
	"strings"

	"sidecar/compat"
)

// Place is one of the four places where a job can be.
type Place string

// The places. Their names are part of what the command line and the dashboard print.
const (
	InPool    Place = "pool"
	InReady   Place = "ready"
	InRunning Place = "running"
	InDead    Place = "dead"
)

// Places returns all places in the order in which a job goes through them.
func Places() []Place { return []Place{InPool, InReady, InRunning, InDead} }

// Entry is one job where it lies in Redis, as it was when it was read.
type Entry struct {
	Place  Place
	Shard  int    // of a list's ready: the number of the shard, behind the last one the list that had none
	Stored string // as it stands in the key: text, dead record, or claim
	Job    string // the job's text, unwrapped; it need not be one that parses

	Readable bool // Job is a job: what follows was read from it
	UUID     string
	Type     string
	Tries    int
	Crashes  int

	Score string     // pool and running: as Redis prints it
	Due   ServerTime // pool: when it is due; 0 = never, 1 = it always has been (0, -inf)
	Lease ServerTime // running: when its lease ends; 0 = at no time that could be told

	// Unchanged says, for running, that its lease was not renewed yet: a claim's first one is no whole millisecond
	// (docs/decisions/0016), and tells by its end when that was (Leases).
	Unchanged bool

	Error  string // dead: why; elsewhere the job's last_error
	Trace  string // dead only
	At     string // dead only: as compat.FormatAt writes it
	Reason bool   // dead: Error, Trace and At are known (DeadJob.Reason)

	// Index is where in the key it lay, counted from the head (pool and running: from the lowest score) on, and Length
	// how many there were. Both move on; with Ref they are where to look first. Index is -1 where it is not known.
	Index, Length int64
}

// IsNever reports that the entry waits in the pool with a score that is no time: it will never be due.
func (e Entry) IsNever() bool { return e.Place == InPool && e.Due == 0 }

// Ahead returns how many jobs of its key run before an entry of the topic's pool or ready; -1 where that is not known.
func (o Options) Ahead(e Entry) int64 {
	switch {
	case e.Index < 0:
		return -1
	case e.Place == InReady && o.List != nil && o.List.Order != LIFO: // its oldest lie at the tail
		return e.Length - 1 - e.Index
	}
	return e.Index
}

// recordName begins the Name of an entry that has no uuid.
const recordName = "record:"

// Name is what people call the entry by: its uuid as compat.PlainUUID shows it, and where it has none the sum of what is stored, which
// equal texts have in common. It is fit for a command line, and a Query takes it for a UUID.
func (e Entry) Name() string {
	if e.UUID != "" {
		return compat.PlainUUID(e.UUID)
	}
	return recordName + sumOf(e.Stored)
}

// IsNamed reports whether name is the entry's uuid, or its Name.
func (e Entry) IsNamed(name string) bool {
	return compat.Names(name, e.UUID) || e.UUID == "" && strings.HasPrefix(name, recordName) && name == e.Name()
}

// entry reads what pool, ready or running holds.
func (w wire) entry(place Place, stored string) Entry {
	e := Entry{Place: place, Stored: stored, Index: -1}
	body := stored
	if place != InReady {
		body = w.text(stored)
	}
	e.Job = body
	if job, _, err := w.job(body); err == nil {
		e.read(job)
		e.Error = job.LastError()
	}
	return e
}

// read takes over what a job says.
func (e *Entry) read(job compat.Job) {
	e.Readable, e.Job, e.UUID, e.Tries, e.Crashes = true, job.Raw(), job.UUID(), job.Tries(), job.Crashes()
	// No part of CONTRACT 1: but where a delayed job has a type, people look for it.
	if typed, err := compat.ParseListJob(job.Raw()); err == nil {
		e.Type = typed.Type()
	}
}

// deadEntry turns what is known of a job of dead into an Entry.
func (w wire) deadEntry(d DeadJob) Entry {
	e := Entry{Place: InDead, Stored: d.Text, Job: d.Job, Error: d.Error, Trace: d.Trace, At: d.At, Reason: d.Reason, Index: -1}
	if job, _, err := w.job(d.Job); err == nil {
		e.read(job)
	}
	return e
}

// scored sets the score of an entry of pool or running, and what it means there.
func (s *Store) scored(e *Entry, score string) {
	e.Score = score
	switch e.Place {
	case InPool:
		e.Due = s.due(score)
	case InRunning:
		e.Lease, _ = leaseEnd(Lease(score))
		if ms, err := strconv.ParseFloat(score, 64); err == nil && !e.Lease.IsZero() && ms != math.Trunc(ms) {
			e.Unchanged = true
		}
	case InReady, InDead:
	}
}
