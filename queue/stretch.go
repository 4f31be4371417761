package queue

import (
	"context"
	"fmt"
)

const (
	// windowMost is how many texts one command reads for people, and windowBytes after how many bytes it ends: nobody
	// who looks may hold Redis up for those who work.
	windowMost  = 500
	windowBytes = 1 << 20

	// behindAll is behind the last text of any key, and still a number that Lua counts on from exactly.
	behindAll = 1 << 50
)

// end is where a stretch begins.
type end string

const (
	byScore  end = "ZSET" // the lowest score
	fromHead end = "HEAD"
	fromTail end = "TAIL"
)

// other returns the other end of a list.
func (e end) other() end {
	if e == fromHead {
		return fromTail
	}
	return fromHead
}

// stretch is some neighbours of one key.
type stretch struct {
	now    ServerTime
	total  int64
	texts  []string
	scores []string // of pool and running
}

// stretch reads up to n texts of key behind the first ones from that end on, and fewer where they are large: but one
// unless there is none.
func (s *Store) stretch(ctx context.Context, key string, from end, first, n int64) (stretch, error) {
	first = min(first, behindAll) // whoever forges a cursor finds the end, and no error of a script's
	reply, err := s.list(ctx, "read", 2, peekScript, []string{key}, string(from), first, min(n, windowMost), windowBytes)
	if err != nil {
		return stretch{}, err
	}
	w := stretch{now: reply.time(0), total: reply.number(1)}
	step := 1
	if from == byScore {
		step = 2
	}
	for i := 2; i < len(reply); i += step {
		w.texts = append(w.texts, reply.text(i))
		if step == 2 {
			w.scores = append(w.scores, reply.text(i+1))
		}
	}
	return w, nil
}

// index returns where in a key of that length the text lies that is the n-th from an end on.
func (e end) index(n, length int64) int64 {
	if e == fromTail {
		return length - 1 - n
	}
	return n
}

// at returns the keys of a place. Only a list's ready has several.
func (k keys) at(place Place) []string {
	switch place {
	case InPool:
		return []string{k.pool}
	case InReady:
		return k.ready
	case InRunning:
		return []string{k.running}
	case InDead:
		return []string{k.dead}
	}
	panic(fmt.Sprintf("queue: no place %q", string(place)))
}

// newest returns the end at which a place's texts come in: in profile list those of the left (CONTRACT 2).
func (s *Store) newest(place Place) end {
	switch {
	case place == InPool || place == InRunning:
		return byScore
	case s.opts.List != nil:
		return fromHead
	}
	return fromTail
}
