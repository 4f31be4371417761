package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/compat/encoding"
)

// KeyLook is what a look at one of a topic's keys shows: a few texts at both of its ends, and nothing that takes longer
// where it holds more.
type KeyLook struct {
	Key    string
	Role   string        // pool, ready, running, dead or reasons
	Type   string        // as TYPE says it; "none" where there is no such key
	Want   string        // zset or list
	TTL    time.Duration // until Redis deletes it, 0: never
	Length int64

	Seen    int            // texts looked at
	Faults  []string       // why some of them are no jobs, each reason once
	Unread  int            // how many of them are none
	Wrapped map[string]int // how many are jobs in a form that encoding = "auto" unwraps, and which
	Scores  []string       // of a zset
	Died    []string       // of dead: when they died, as compat.FormatAt writes it
	Buried  int            // of dead: how many are dead since they are no jobs; Faults says why
}

// Look looks at each of the topic's keys, at n texts at each end of it. An error says what could not be asked; what the
// other commands told comes back all the same.
func (s *Store) Look(ctx context.Context, n int) ([]KeyLook, error) {
	looks := []KeyLook{
		{Key: s.keys.pool, Role: "pool", Want: "zset"},
		{Key: s.keys.running, Role: "running", Want: "zset"},
		{Key: s.keys.dead, Role: "dead", Want: "list"},
	}
	for _, ready := range s.keys.ready {
		looks = append(looks, KeyLook{Key: ready, Role: "ready", Want: "list"})
	}
	if s.keys.reasons != "" {
		looks = append(looks, KeyLook{Key: s.keys.reasons, Role: "reasons", Want: "list"})
	}
	var errs []error
	for i := range looks {
		if err := s.lookAt(ctx, &looks[i], int64(n)); err != nil {
			errs = append(errs, fmt.Errorf("look at %s: %w", looks[i].Key, err))
		}
	}
	return looks, errors.Join(errs...)
}

// lookAt fills k.
func (s *Store) lookAt(ctx context.Context, k *KeyLook, n int64) error {
	var typeErr, ttlErr error
	if k.Type, typeErr = s.rdb.Type(ctx, k.Key).Result(); typeErr != nil {
		k.Type = k.Want // reading tells whether it is
	}
	ttl, ttlErr := s.rdb.PTTL(ctx, k.Key).Result()
	if ttl > 0 { // -1: for ever, -2: no such key
		k.TTL = ttl
	}
	if k.Type != k.Want {
		return errors.Join(typeErr, ttlErr)
	}
	texts, err := s.ends(ctx, k, n)
	for _, text := range texts {
		s.readInto(k, text)
	}
	return errors.Join(typeErr, ttlErr, err)
}

// ends returns up to n texts from each end of k, and fewer where they are large.
func (s *Store) ends(ctx context.Context, k *KeyLook, n int64) ([]string, error) {
	head, tail := fromHead, fromTail
	if k.Want == "zset" {
		head, tail = byScore, byScore
	}
	w, err := s.stretch(ctx, k.Key, head, 0, n)
	k.Length, k.Scores = w.total, w.scores
	more := min(n, w.total-int64(len(w.texts))) // and no more, however many have come since
	if err != nil || more <= 0 {
		return w.texts, err
	}
	first := int64(0)
	if tail == byScore {
		first = w.total - more
	}
	last, err := s.stretch(ctx, k.Key, tail, first, more)
	k.Scores = append(k.Scores, last.scores...)
	return append(w.texts, last.texts...), err
}

// readInto notes in k what stored holds.
func (s *Store) readInto(k *KeyLook, stored string) {
	k.Seen++
	w := s.wire()
	var err error
	switch {
	case k.Role == "reasons":
		_, why := parseReason(stored)
		if why.List == s.opts.List.Key {
			k.Died = append(k.Died, why.At)
		}
		return
	case k.Role == "dead" && s.opts.List == nil:
		if d := w.deadRecord(stored); d.Reason {
			k.Died = append(k.Died, d.At)
			s.buried(k, d.Job)
			return
		}
		_, err = compat.ParseDeadRecord(stored)
	case k.Role == "dead":
		s.buried(k, stored)
		return
	case k.Role == "ready":
		_, _, err = w.job(stored)
	default:
		stored = w.text(stored)
		_, _, err = w.job(stored)
	}
	if err != nil {
		k.unread(s.opts, stored, err)
	}
}

// buried notes a dead job that is none as the topic is configured.
func (s *Store) buried(k *KeyLook, job string) {
	if _, _, err := s.wire().job(job); err != nil {
		k.Buried++
		k.fault(err)
	}
}

// unread notes a text that is no job as the topic is configured.
func (k *KeyLook) unread(opts Options, stored string, err error) {
	if opts.Encoding == EncodingPlain {
		opts.Encoding = EncodingAuto
		if _, form, autoErr := newWire(opts).job(stored); autoErr == nil && form != (encoding.Form{}) {
			if k.Wrapped == nil {
				k.Wrapped = make(map[string]int)
			}
			k.Wrapped[form.String()]++
			return
		}
	}
	k.Unread++
	k.fault(err)
}

// fault keeps each reason once.
func (k *KeyLook) fault(err error) {
	if !slices.Contains(k.Faults, err.Error()) {
		k.Faults = append(k.Faults, err.Error())
	}
}

// Overdue counts the claims whose lease has ended at least for so long.
func (s *Store) Overdue(ctx context.Context, now ServerTime, since time.Duration) (int64, error) {
	return s.rdb.ZCount(ctx, s.keys.running, "(0", strconv.FormatInt(int64(now.Add(-since))/1000, 10)).Result()
}

// Shard is a list and how many texts it has.
type Shard struct {
	Key  string
	Jobs int64
}

// LeftShards returns the lists named like shards of the topic's list that it does not take from, and that hold something.
func (s *Store) LeftShards(ctx context.Context, prefix string) (left []Shard, err error) {
	l := s.opts.List
	if l == nil {
		return nil, nil
	}
	all := compat.NewListKeys(prefix, l.Key, l.Dead, maxShards).Lists[l.Shards:maxShards]
	lengths := make([]*redis.IntCmd, len(all))
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range all {
			lengths[i] = p.LLen(ctx, key)
		}
		return nil
	})
	for i, cmd := range lengths {
		if n, err := cmd.Result(); err == nil && n > 0 {
			left = append(left, Shard{all[i], n})
		}
	}
	if len(left) > 0 || FaultOf(err) == WrongType { // another key of such a name is none of ours
		err = nil
	}
	return left, err
}
