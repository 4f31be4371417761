package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

// What an ack says (CONTRACT 2), and how long it is kept. The old worker asks for the key only, passes over a job
// that has one, and leaves its own behind where the job fails.
const (
	ackDone    = markDone
	ackRunning = "processing " // and by which claim
	ackTTL     = 3600          // seconds
)

// Ack asks whether a claim's job may run.
type Ack struct {
	UUID string // the job's job_id; "" has no ack
	Text string // the claim's entry of running
}

// Standing says whether a job may run: it may when both are zero.
type Standing struct {
	Done bool          // it is done already
	Wait time.Duration // somebody else is on it: look again after that
}

// says is what the ack of the claim says while it runs.
func (a Ack) says() string {
	id, _ := compat.SplitClaim(a.Text)
	return ackRunning + id
}

func (r Requeueing) ackOf() Ack { return Ack{r.UUID, r.Text} }
func (b Burial) ackOf() Ack     { return Ack{b.UUID, b.Text} }

// acked reports whether the topic's jobs have acks.
func (s *Store) acked() bool { return s.opts.List != nil && s.marks() }

// TakeAcks says of each job of a list that its claim is on it, unless somebody else is or the job is done. An ack that
// is older than a lease and was not kept young is no longer believed: the old worker leaves one behind where a
// job fails, and whoever dies leaves one, too. Acks lie anywhere in a Cluster, hence a call of its own.
func (s *Store) TakeAcks(ctx context.Context, list []Ack) ([]Standing, error) {
	standings := make([]Standing, len(list))
	if !s.acked() {
		return standings, nil
	}
	for part := range s.ackParts(list) {
		keys := make([]string, len(part))
		args := []any{s.opts.Lease.Milliseconds(), ackTTL, ackDone}
		for i, at := range part {
			keys[i] = s.keys.mark(list[at].UUID)
			args = append(args, list[at].says())
		}
		reply, err := s.list(ctx, "take acks of", len(part), takeAcksScript, keys, args...)
		if err != nil {
			return nil, err
		}
		for i, at := range part {
			n := reply.number(i)
			standings[at] = Standing{Done: n < 0, Wait: max(0, time.Duration(n)*time.Millisecond)}
		}
	}
	return standings, nil
}

// ackParts yields the indexes of those that have an ack, in groups of what one call may touch.
func (s *Store) ackParts(list []Ack) func(yield func([]int) bool) {
	most := groupMost
	if _, cluster := s.rdb.(*redis.ClusterClient); cluster {
		most = 1
	}
	return func(yield func([]int) bool) {
		var part []int
		for i, a := range list {
			if a.UUID != "" {
				part = append(part, i)
			}
			if len(part) == most || i == len(list)-1 && len(part) > 0 {
				if !yield(part) {
					return
				}
				part = nil
			}
		}
	}
}

// dropAcks takes back that claims are on their jobs. It goes before whatever makes a text visible again: the old worker
// passes over a job that has an ack, and that is the end of the job.
func (s *Store) dropAcks(ctx context.Context, list []Ack) error {
	if !s.acked() {
		return nil
	}
	for part := range s.ackParts(list) {
		keys := make([]string, len(part))
		args := make([]any, len(part))
		for i, at := range part {
			keys[i], args[i] = s.keys.mark(list[at].UUID), list[at].says()
		}
		if _, err := s.call(ctx, "drop acks of", dropAcksScript, keys, args...); err != nil {
			return err
		}
	}
	return nil
}

// dropForeignAck takes back whatever somebody else says of the job, unless that is that it is done. It is for a replay: the
// old worker leaves an ack behind where a job fails, and would pass over the replayed one.
func (s *Store) dropForeignAck(ctx context.Context, uuid string) error {
	if uuid == "" || !s.acked() {
		return nil
	}
	key := s.keys.mark(uuid)
	says, err := s.rdb.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) || says == ackDone {
		return nil
	}
	if err == nil {
		_, err = dropAcksScript.run(ctx, s.rdb, []string{key}, says) // if it still says that
	}
	if err != nil {
		return fmt.Errorf("drop ack of %s: %w", s.opts.Topic, err)
	}
	return nil
}

// dropAcksOf is dropAcks for settlements.
func dropAcksOf[T any](ctx context.Context, s *Store, list []T, ackOf func(T) Ack) error {
	if !s.acked() {
		return nil
	}
	acks := make([]Ack, len(list))
	for i, one := range list {
		acks[i] = ackOf(one)
	}
	return s.dropAcks(ctx, acks)
}

// ackDone says of jobs that they are done, and returns the completions that are left to make. It goes first: a job that
// runs again although it is done is the mistake that acks are to prevent.
func (s *Store) ackDone(ctx context.Context, list []Completion) ([]Completion, error) {
	if !s.acked() {
		return list, nil
	}
	left := make([]Completion, len(list))
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, c := range list {
			left[i] = c
			left[i].UUID = ""
			if c.UUID != "" {
				pipe.Set(ctx, s.keys.mark(c.UUID), ackDone, markTTL*time.Second)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mark as done in %s: %w", s.opts.Topic, err)
	}
	return left, nil
}

// keepAcks keeps the acks of renewed claims young, where they are theirs.
func (s *Store) keepAcks(ctx context.Context, list []Renewal, lost []bool) error {
	if !s.acked() {
		return nil
	}
	acks := make([]Ack, 0, len(list))
	for i, r := range list {
		if !lost[i] {
			acks = append(acks, Ack{r.UUID, r.Text})
		}
	}
	for part := range s.ackParts(acks) {
		keys := make([]string, len(part))
		args := make([]any, 1, 1+len(part))
		args[0] = ackTTL
		for i, at := range part {
			keys[i], args = s.keys.mark(acks[at].UUID), append(args, acks[at].says())
		}
		if _, err := s.call(ctx, "renew acks of", keepAcksScript, keys, args...); err != nil {
			return err
		}
	}
	return nil
}
