package queue

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Store moves one topic's texts between its keys. Each method but the plain reads is one Lua script, so a move
// happens whole or not at all, by Redis's own clock, also beside legacy scanners and
// workers on the same keys. No method repeats what may have happened: on an error of
// the network (FaultOf) the caller decides. A Store may be used by many goroutines.
type Store struct {
	rdb     redis.UniversalClient
	keys    keys
	opts    Options
	profile *profile
	calls   *calls // profile list only
	unit    int64  // milliseconds in one unit of the pool's scores
	nearEnd int64  // see nearEnd; tests make it small

	breaks atomic.Int64 // calls that failed: since then another server may answer, with another clock
}

// NewStore returns the Store of the topic in opts. prefix stands before every key.
func NewStore(rdb redis.UniversalClient, prefix string, opts Options) *Store {
	unit := int64(1)
	if opts.ScoreUnit == Seconds {
		unit = 1000
	}
	s := &Store{rdb: rdb, keys: keysOf(prefix, opts), opts: opts, profile: &delayProfile, unit: unit, nearEnd: nearEnd}
	if opts.List != nil {
		s.profile, s.calls = &listProfile, newCalls()
	}
	return s
}

// move makes a move of the profile; its reply has at least n entries.
func (s *Store) move(ctx context.Context, verb string, n int, m move) (replies, error) {
	return s.list(ctx, verb, n, m.script, m.keys, m.args...)
}

// call runs a script and puts its name and, where a key is of the wrong type, that key into the error.
func (s *Store) call(ctx context.Context, verb string, sc script, keys []string, args ...any) (any, error) {
	reply, err := sc.run(ctx, s.rdb, keys, args...)
	if err == nil {
		return reply, nil
	}
	s.breaks.Add(1)
	return nil, fmt.Errorf("%s %s: %w", verb, s.opts.Topic, s.explain(ctx, err))
}

// list is call for the scripts that return a flat list; it has at least n entries.
func (s *Store) list(ctx context.Context, verb string, n int, sc script, keys []string, args ...any) (replies, error) {
	reply, err := s.call(ctx, verb, sc, keys, args...)
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) < n {
		return nil, fmt.Errorf("%s %s: want a list of %d from the script, got %d", verb, s.opts.Topic, n, len(list))
	}
	return list, nil
}

// explain adds to a WRONGTYPE which key it is, which Redis does not say.
func (s *Store) explain(ctx context.Context, err error) error {
	if FaultOf(err) != WrongType {
		return err
	}
	type kindOf struct{ key, kind string }
	want := []kindOf{{s.keys.pool, "zset"}, {s.keys.running, "zset"}, {s.keys.dead, "list"}, {s.keys.moved, "zset"}}
	for _, ready := range s.keys.ready {
		want = append(want, kindOf{ready, "list"})
	}
	if s.keys.reasons != "" {
		want = append(want, kindOf{s.keys.reasons, "list"})
	}
	for _, w := range want {
		if told := explainType(ctx, s.rdb, w.key, w.kind, err); told != err { //nolint:errorlint // the same one, not one like it
			return told
		}
	}
	return err
}

// explainType adds to a WRONGTYPE that it is this key, where it is.
func explainType(ctx context.Context, rdb redis.Cmdable, key, want string, err error) error {
	if FaultOf(err) != WrongType {
		return err
	}
	kind, typeErr := rdb.Type(ctx, key).Result()
	if typeErr != nil || kind == "none" || kind == want {
		return err
	}
	return fmt.Errorf("%s is a %s, want a %s: %w", key, kind, want, err)
}

// replies is the flat list a script returns: texts, and small integers.
type replies []any

// text returns entry i, or "" where there is none.
func (r replies) text(i int) string {
	if i >= len(r) {
		return ""
	}
	text, _ := r[i].(string)
	return text
}

// number returns entry i, or 0 where there is none.
func (r replies) number(i int) int64 {
	if i >= len(r) {
		return 0
	}
	n, _ := r[i].(int64)
	return n
}

// time returns entry i, microseconds in a text: as a Lua number it could lose its last digits.
func (r replies) time(i int) ServerTime {
	us, _ := strconv.ParseInt(r.text(i), 10, 64)
	return ServerTime(us)
}
