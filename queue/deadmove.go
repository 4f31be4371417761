package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"sidecar/compat"
)

// ErrNoJob reports a text that would only come back to dead: it is no JSON object. Raw replays it all the same.
var ErrNoJob = errNoJob

// What a DeadMove does.
const (
	VerbReplay = "replay"
	VerbDrop   = "drop"
)

// DeadMove is what is to be done with one job of dead, and all it takes to undo that. As JSON it can be written down
// before it is made, and made again by whoever does not know whether it was: it moves one job once (docs/decisions/0021). It
// holds the job's bytes, so the file is nobody else's to read.
type DeadMove struct {
	Topic  string `json:"topic"`
	Verb   string `json:"verb"`   // VerbReplay, VerbDrop
	Ticket string `json:"ticket"` // by which Redis knows what was made
	UUID   string `json:"uuid,omitempty"`

	Record []byte `json:"record"`           // as it lies in dead
	Text   []byte `json:"text,omitempty"`   // what a replay puts back, as it is stored
	Reason []byte `json:"reason,omitempty"` // what stands beside a list's letter

	Index  int64 `json:"index"` // where it was seen; see Entry
	Length int64 `json:"length"`
}

// Name is what people call the job by, as Entry.Name has it.
func (m DeadMove) Name() string { return Entry{UUID: m.UUID, Stored: string(m.Record)}.Name() }

// ReplayOptions say how a job is replayed.
type ReplayOptions struct {
	KeepRetry bool // its counters stay as they are
	Raw       bool // also a text that is no job
}

// PlanReplay returns the move that puts a job of dead back into the pool, due now, or into its shard: with its counters at 0, and
// replayed_at in loc where it is a delayed one, as Replay does. It changes nothing. A record that holds no job that can run is
// a compat.ErrNotRecord or an ErrNoJob.
func (s *Store) PlanReplay(ctx context.Context, e Entry, o ReplayOptions, loc *time.Location) (DeadMove, error) {
	m, err := s.planMove(VerbReplay, e)
	if err != nil {
		return DeadMove{}, err
	}
	var back revival
	if s.opts.List != nil {
		var ok bool
		if back, ok = s.wire().replayed(e.Stored, o.KeepRetry); !ok && !o.Raw {
			return DeadMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, ErrNoJob)
		}
	} else {
		now, err := s.rdb.Time(ctx).Result()
		if err != nil {
			return DeadMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
		}
		if back, err = s.wire().replayText(e.Stored, compat.FormatAt(now, loc), o); err != nil {
			return DeadMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
		}
	}
	m.Text, m.UUID = []byte(back.stored), back.uuid
	return m, nil
}

// PlanDrop returns the move that takes a job out of dead for good. It changes nothing.
func (s *Store) PlanDrop(e Entry) (DeadMove, error) { return s.planMove(VerbDrop, e) }

func (s *Store) planMove(verb string, e Entry) (DeadMove, error) {
	if e.Place != InDead {
		return DeadMove{}, fmt.Errorf("%s %s: the job is in %s, want one of dead", verb, s.opts.Topic, e.Place)
	}
	m := DeadMove{
		Topic: s.opts.Topic, Verb: verb, Ticket: rand.Text()[:16], UUID: e.UUID,
		Record: []byte(e.Stored), Index: e.Index, Length: e.Length,
	}
	if s.opts.List != nil && e.Reason {
		m.Reason = []byte(reason{List: s.opts.List.Key, JobID: e.UUID, Error: e.Error, Trace: e.Trace, At: e.At}.text(e.Stored))
	}
	return m, nil
}

var errNoMove = errors.New("want one that PlanReplay or PlanDrop returned, for this topic")

// check refuses a move that was not planned for this topic.
func (s *Store) check(m DeadMove) error {
	if m.Topic != s.opts.Topic || m.Ticket == "" || m.Verb != VerbReplay && m.Verb != VerbDrop || m.Record == nil { // an empty one is one, too
		return fmt.Errorf("move of topic %q, verb %q, made for topic %s: %w", m.Topic, m.Verb, s.opts.Topic, errNoMove)
	}
	return nil
}
