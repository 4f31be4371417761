package queue

import (
	"context"
	"fmt"
)

// What an idempotency mark says, and how long it is kept (CONTRACT 1.4). The old consumer writes 1 before
// the work and takes it for done, whatever became of the work; ours is written with the completion,
// and the old consumer, who asks for the key only, believes it rightly.
const (
	markDone   = "done"
	markLegacy = "1"
	markTTL    = 86400 // seconds
)

// withMark appends the key of the uuid's mark to keys and returns its index as Lua counts, or 0 when the topic
// uses no marks or the job has no uuid. A key that is not used is not named: an ACL user need not have it.
func (s *Store) withMark(keys []string, uuid string) ([]string, int) {
	if uuid == "" || !s.marks() || s.opts.List != nil {
		return keys, 0
	}
	keys = append(keys, s.keys.mark(uuid))
	return keys, len(keys)
}

// marks reports whether the topic uses idempotency marks.
func (s *Store) marks() bool {
	return s.opts.Idempotency == IdempotencyOn || s.opts.Idempotency == IdempotencyLegacy
}

// DoneBefore says of each uuid whether its job was done already, by the marks the topic's idempotency
// believes. An empty uuid was never done.
func (s *Store) DoneBefore(ctx context.Context, uuids []string) ([]bool, error) {
	done := make([]bool, len(uuids))
	if !s.marks() {
		return done, nil
	}
	var keys []string
	var of []int // the place in uuids of each key
	for i, uuid := range uuids {
		if uuid != "" {
			keys, of = append(keys, s.keys.mark(uuid)), append(of, i)
		}
	}
	if len(keys) == 0 {
		return done, nil
	}
	found, err := s.rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, fmt.Errorf("read marks of %s: %w", s.opts.Topic, err)
	}
	for i, mark := range found {
		done[of[i]] = mark == markDone || mark == markLegacy && s.opts.Idempotency == IdempotencyLegacy
	}
	return done, nil
}
