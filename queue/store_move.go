package queue

import (
	"context"
	"errors"
	"fmt"

	"sidecar/compat"
)

const (
	// ticketsKept is how many moves of single dead jobs Redis remembers for each topic.
	ticketsKept = 50_000

	// nearEnd is how far from an end of a list a text may lie to be taken out by its value: Redis compares all before it.
	nearEnd = 10_000

	// moveTries bounds how often a record is looked for again because the list moved between two commands.
	moveTries = 10
)

// MoveResult says what became of a HandMove.
type MoveResult int

// The results. They start at 1, so that a forgotten value is none.
const (
	// Taken: the record has left dead; of a requeue, it has another due time.
	Taken MoveResult = iota + 1
	// TakenBefore: this very move was made before, by somebody who did not live to say so. Nothing changed.
	TakenBefore
	// NotThere: the record is not near where it was seen, or waits in the pool no more, or for another time: somebody else took it. Nothing changed.
	NotThere
	// TwinWaits: the pool holds an equal text, with which the job would become one. It was left in dead.
	TwinWaits
)

// String returns the result's name as logs spell it.
func (r MoveResult) String() string {
	switch r {
	case Taken:
		return "taken"
	case TakenBefore:
		return "taken before"
	case NotThere:
		return "not there"
	case TwinWaits:
		return "twin waits"
	}
	return "unknown"
}

// Move makes a move, in one step, and once: the same move made again, by this process or another one, changes nothing. It takes
// exactly one record, and never another one than was planned. Each of its commands is bounded, however long dead is.
func (s *Store) Move(ctx context.Context, m HandMove) (MoveResult, error) {
	if err := s.check(m); err != nil {
		return 0, err
	}
	if m.Verb == VerbRequeue {
		return s.retime(ctx, m)
	}
	if m.Verb == VerbReplay {
		if err := s.dropForeignAck(ctx, m.UUID); err != nil {
			return 0, err
		}
	}
	index, length := m.Index, m.Length
	for range moveTries {
		reply, err := s.takeDead(ctx, m, index, index-length)
		if err != nil {
			return 0, err
		}
		switch reply {
		case 1:
			return Taken, nil
		case 2:
			return TakenBefore, nil
		case 3:
			return TwinWaits, nil
		}
		index, err = s.locate(ctx, s.keys.dead, sumOf(string(m.Record)), m.Index, m.Length)
		if errors.Is(err, ErrNotThere) {
			return NotThere, nil
		}
		if err != nil {
			return 0, err
		}
		length = 0 // from here on the index is exact, from the head
	}
	return 0, fmt.Errorf("%s %s: dead changes all the time, try again", m.Verb, s.opts.Topic)
}

// takeDead calls the script: the record may lie at one of two places.
func (s *Store) takeDead(ctx context.Context, m HandMove, head, tail int64) (int64, error) {
	keys := []string{s.keys.dead, s.keys.moved}
	unit := int64(0)
	if m.Verb == VerbReplay {
		if s.opts.List != nil {
			keys = append(keys, s.shardOf(m.UUID))
		} else {
			unit = s.unit
			keys, _ = s.withMark(append(keys, s.keys.pool), m.UUID)
		}
	}
	oldest := "LEFT"
	if s.newest(InDead) != fromTail {
		oldest = "RIGHT"
	}
	reply, err := s.call(ctx, m.Verb, takeDeadScript, keys,
		m.Ticket, m.Record, head, tail, oldest, s.nearEnd, ticketsKept, m.Text, unit, markDone)
	n, _ := reply.(int64)
	return n, err
}

// shardOf is the list of the shard that producers choose for a job.
func (s *Store) shardOf(uuid string) string {
	return s.keys.ready[compat.Shard(uuid, s.opts.List.Shards)]
}
