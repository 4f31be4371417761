package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sidecar/compat"
)

// ErrNoJob reports a text that would only come back to dead: it is no JSON object. Raw replays it all the same.
var ErrNoJob = errNoJob

// What a HandMove does.
const (
	VerbReplay  = "replay"
	VerbDrop    = "drop"
	VerbRequeue = "requeue"
)

// HandMove is what is to be done with one job of dead, or of pool, and all it takes to undo that. As JSON it can be written down
// before it is made, and made again by whoever does not know whether it was: it moves one job once (docs/decisions/0021). It
// holds the job's bytes, so the file is nobody else's to read.
type HandMove struct {
	Topic  string `json:"topic"`
	Verb   string `json:"verb"`   // VerbReplay, VerbDrop, VerbRequeue
	Ticket string `json:"ticket"` // by which Redis knows what was made
	UUID   string `json:"uuid,omitempty"`

	Record []byte `json:"record"`           // as it lies in dead, or in pool
	Text   []byte `json:"text,omitempty"`   // what a replay puts back, as it is stored
	Reason []byte `json:"reason,omitempty"` // what stands beside a list's letter

	Score string `json:"score,omitempty"` // a requeue's: as it was in the pool
	Due   string `json:"due,omitempty"`   // likewise: the score that it gets

	Index  int64 `json:"index"` // where it was seen; see Entry
	Length int64 `json:"length"`
}

// Name is what people call the job by, as Entry.Name has it.
func (m HandMove) Name() string { return Entry{UUID: m.UUID, Stored: string(m.Record)}.Name() }

// ReplayOptions say how a job is replayed.
type ReplayOptions struct {
	KeepRetry bool // its counters stay as they are
	Raw       bool // also a text that is no job
}

// PlanReplay returns the move that puts a job of dead back into the pool, due now, or into its shard: with its counters at 0, and
// replayed_at in loc where it is a delayed one, as Replay does. It changes nothing. A record that holds no job that can run is
// a compat.ErrNotRecord or an ErrNoJob.
func (s *Store) PlanReplay(ctx context.Context, e Entry, o ReplayOptions, loc *time.Location) (HandMove, error) {
	m, err := s.planMove(VerbReplay, e)
	if err != nil {
		return HandMove{}, err
	}
	var back revival
	if s.opts.List != nil {
		var ok bool
		if back, ok = s.wire().replayed(e.Stored, o.KeepRetry); !ok && !o.Raw {
			return HandMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, ErrNoJob)
		}
	} else {
		now, err := s.rdb.Time(ctx).Result()
		if err != nil {
			return HandMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
		}
		if back, err = s.wire().replayText(e.Stored, compat.FormatAt(now, loc), o); err != nil {
			return HandMove{}, fmt.Errorf("replay %s: %w", s.opts.Topic, err)
		}
	}
	m.Text, m.UUID = []byte(back.stored), back.uuid
	return m, nil
}

// PlanDrop returns the move that takes a job out of dead for good. It changes nothing.
func (s *Store) PlanDrop(e Entry) (HandMove, error) { return s.planMove(VerbDrop, e) }

// RequeueOptions say when a job of pool is to be due.
type RequeueOptions struct {
	// ScoresIn is "" for now; else the unit in which its score is the time that was meant.
	ScoresIn ScoreUnit
}

// PlanRequeue returns the move that gives a job of pool another due time. It changes nothing.
func (s *Store) PlanRequeue(ctx context.Context, e Entry, o RequeueOptions) (HandMove, error) {
	m, err := s.planMove(VerbRequeue, e)
	if err != nil {
		return HandMove{}, err
	}
	var due float64 // milliseconds
	if o.ScoresIn != "" {
		score, err := strconv.ParseFloat(e.Score, 64)
		if err != nil {
			return HandMove{}, fmt.Errorf("requeue %s: score %q: %w", s.opts.Topic, e.Score, err)
		}
		due = score * o.ScoresIn.millis()
	} else {
		now, err := s.rdb.Time(ctx).Result()
		if err != nil {
			return HandMove{}, fmt.Errorf("requeue %s: %w", s.opts.Topic, err)
		}
		due = millisOf(now)
	}
	m.Score, m.Due = e.Score, strconv.FormatFloat(due/float64(s.unit), 'f', -1, 64)
	return m, nil
}

func (s *Store) planMove(verb string, e Entry) (HandMove, error) {
	if want := placeOf(verb); e.Place != want {
		return HandMove{}, fmt.Errorf("%s %s: the job is in %s, want one of %s", verb, s.opts.Topic, e.Place, want)
	}
	m := HandMove{
		Topic: s.opts.Topic, Verb: verb, Ticket: rand.Text()[:16], UUID: e.UUID,
		Record: []byte(e.Stored), Index: e.Index, Length: e.Length,
	}
	if s.opts.List != nil && e.Reason {
		m.Reason = []byte(reason{List: s.opts.List.Key, JobID: e.UUID, Error: e.Error, Trace: e.Trace, At: e.At}.text(e.Stored))
	}
	return m, nil
}

// placeOf is where the jobs lie that a verb moves; "" of a verb that moves none.
func placeOf(verb string) Place {
	switch verb {
	case VerbReplay, VerbDrop:
		return InDead
	case VerbRequeue:
		return InPool
	}
	return ""
}

var errNoMove = errors.New("want one that PlanReplay, PlanDrop or PlanRequeue returned, for this topic")

// check refuses a move that was not planned for this topic.
func (s *Store) check(m HandMove) error {
	if m.Topic != s.opts.Topic || m.Ticket == "" || placeOf(m.Verb) == "" || m.Record == nil || m.Verb == VerbRequeue && (m.Score == "" || m.Due == "") { // an empty record is one, too
		return fmt.Errorf("move of topic %q, verb %q, made for topic %s: %w", m.Topic, m.Verb, s.opts.Topic, errNoMove)
	}
	return nil
}
