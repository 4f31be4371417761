package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Bounds of going through a server's keys: what it shows is a hint, not a promise.
const (
	scanCount = 1000
	scanCalls = 20
)

// ErrTooManyKeys is why not all keys were seen.
var ErrTooManyKeys = errors.New("there are too many keys, only the first ones were looked through")

// KeysSeen is what going through the keys of Redis shows. It is bounded, so it may miss some.
type KeysSeen struct {
	rdb    redis.UniversalClient
	prefix string
	absent []Options // topics that have no keys

	pattern string
	names   map[string][]string // of the topics that are looked for, by the key without a prefix
	lengths []int               // of those keys

	prefixed map[string][]prefixed // by topic: keys that would be its own but for what stands before them
	here     map[string]bool       // topics that have keys under prefix
	lived    map[string]bool       // by prefix, as far as it was asked: whether a sidecar has lived there
}

// prefixed is a key that would be a topic's, but for what stands before it.
type prefixed struct{ before, key string }

// SeeKeys goes through the keys once, whatever they are looked at for, and however many topics there are. An error says
// why not all keys were seen; what was seen is returned with it.
func SeeKeys(ctx context.Context, rdb redis.UniversalClient, prefix string, topics []Options) (*KeysSeen, error) {
	none := absent(ctx, rdb, prefix, topics)
	return seeKeys(ctx, rdb, prefix, slices.DeleteFunc(slices.Clone(topics), func(o Options) bool {
		return o.List != nil && !slices.ContainsFunc(none, func(n Options) bool { return n.Topic == o.Topic })
	}), none)
}

// seeKeys is SeeKeys for topics of which those have no keys.
func seeKeys(ctx context.Context, rdb redis.UniversalClient, prefix string, topics, absent []Options) (*KeysSeen, error) {
	s := newKeysSeen(rdb, prefix, topics, absent)
	nodes, err := servers(ctx, rdb)
	for _, node := range nodes { // with its prefix a key may lie anywhere in a Cluster
		err = cmp.Or(err, s.scan(ctx, node))
	}
	return s, err
}

func newKeysSeen(rdb redis.UniversalClient, prefix string, topics, absent []Options) *KeysSeen {
	s := &KeysSeen{
		rdb: rdb, prefix: prefix, absent: absent, pattern: "*delay:*", names: make(map[string][]string),
		prefixed: make(map[string][]prefixed), here: make(map[string]bool), lived: make(map[string]bool),
	}
	for _, opts := range topics {
		if opts.List != nil {
			s.pattern = "*" // their keys have no word in common
		}
		for _, key := range keysOf("", opts).roles() {
			s.names[key] = append(s.names[key], opts.Topic)
			s.lengths = append(s.lengths, len(key))
		}
	}
	slices.Sort(s.lengths)
	s.lengths = slices.Compact(s.lengths)
	return s
}

// scan goes through a server's keys, as far as the bounds allow.
func (s *KeysSeen) scan(ctx context.Context, node redis.UniversalClient) error {
	for cursor, calls := uint64(0), 0; calls < scanCalls; calls++ {
		page, next, err := node.Scan(ctx, cursor, s.pattern, scanCount).Result()
		if err != nil {
			return err
		}
		for _, key := range page {
			s.notePrefixed(key)
			s.noteHere(key)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
	return ErrTooManyKeys
}

// notePrefixed keeps a key that would be a topic's, but for what stands in front.
func (s *KeysSeen) notePrefixed(key string) {
	for _, n := range s.lengths {
		if n > len(key) {
			return
		}
		before, end := key[:len(key)-n], key[len(key)-n:]
		if before == s.prefix {
			continue
		}
		for _, name := range s.names[end] {
			s.prefixed[name] = append(s.prefixed[name], prefixed{before, key})
		}
	}
}
