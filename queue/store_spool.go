package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

// SpoolRow is a row of a spool: a job that PHP stored in a table while Redis was away.
type SpoolRow struct {
	ID     int64
	Ticket string // hexadecimal digits that no other row ever has: ids come again
	Due    int64  // ms since the epoch; of a pool's
	Text   string
}

// Spooling are the rows for one key that one reading of the table has found.
type Spooling struct {
	Spool   string // the spool's name
	Reading int64  // its number: they rise in the order of what the readings saw
	After   int64  // the id behind which it began
	Upto    int64  // the id with which it ended
	Last    bool   // there was none behind Upto
	Key     string // where the jobs belong, without the client-side prefix
	List    bool   // Key is a list, else a pool
	Unit    ScoreUnit
	Rows    []SpoolRow // in the order of their ids
}

// Spooled is what became of a Spooling.
type Spooled struct {
	Later   int64  // a reading with this number was here before: nothing changed
	In      []bool // by row: its job is in Redis, and the row may be deleted
	Added   int    // now
	Before  int    // by an earlier call
	Refused error  // why rows are not in
}

// Inlet adds the jobs of spools to pools and lists, each row once however often it is offered: the step that adds a job
// marks its row. The marks are our own key in the slot of the pool or list.
type Inlet struct {
	rdb    redis.UniversalClient
	prefix string
}

// NewInlet returns the Inlet of a Redis. prefix stands before every key.
func NewInlet(rdb redis.UniversalClient, prefix string) *Inlet {
	return &Inlet{rdb: rdb, prefix: prefix}
}

// Spool adds the jobs of s, those that are overdue as due now, in the order of their rows. After an error it is unknown
// whether they are in: offer them again, or read the table again.
func (n *Inlet) Spool(ctx context.Context, s Spooling) (Spooled, error) {
	upto, unit := strconv.FormatInt(s.Upto, 10), 1
	if s.Last {
		upto = ""
	}
	switch {
	case s.List:
		unit = 0
	case s.Unit == Seconds:
		unit = 1000
	}
	args := []any{s.Reading, s.After, upto, unit}
	for _, row := range s.Rows {
		args = append(args, row.ID, row.Ticket, row.Due, row.Text)
	}
	keys := []string{n.prefix + s.Key, compat.SpoolMarks(n.prefix, s.Key, s.Spool)}
	reply, err := spoolScript.run(ctx, n.rdb, keys, args...)
	if err != nil {
		return Spooled{}, fmt.Errorf("spool into %s: %w", keys[0], err)
	}
	return spooled(s, reply)
}

// spooled reads the script's reply.
func spooled(s Spooling, reply any) (Spooled, error) {
	list, _ := reply.([]any)
	r := replies(list)
	if later := r.number(0); later > s.Reading {
		return Spooled{Later: later}, nil
	}
	if len(list) != 2+len(s.Rows) {
		return Spooled{}, fmt.Errorf("spool into %s: want a result for each of %d rows from the script, got %d", s.Key, len(s.Rows), len(list))
	}
	done := Spooled{In: make([]bool, len(s.Rows))}
	for i := range s.Rows {
		switch r.number(2 + i) {
		case 1:
			done.Added++
		case 2:
			done.Before++
		}
		done.In[i] = r.number(2+i) > 0
	}
	if text := r.text(1); text != "" {
		done.Refused = fmt.Errorf("spool into %s: %w", s.Key, errors.New(text))
	}
	return done, nil
}
