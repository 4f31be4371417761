package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// prefixedMost is how many of the keys that were found are named.
const prefixedMost = 5

// Dangers tells of topics of whose keys none exist but such with something in front do: mostly a framework's key prefix,
// and consumers without it sit idle for ever.
func (s *KeysSeen) Dangers() (all []Danger) {
	for _, opts := range s.absent {
		if keys := s.prefixed[opts.Topic]; len(keys) > 0 {
			all = append(all, Danger{Kind: OtherPrefix, Topic: opts.Topic, Text: fmt.Sprintf("topic %s has no keys, but there are %s: set key_prefix%s",
				opts.Topic, firstNamed(keys), onlyPrefix(keys))})
		}
	}
	return all
}

// firstNamed names the first keys, in their order, and counts the others.
func firstNamed(list []prefixed) string {
	keys := make([]string, 0, len(list))
	for _, p := range list {
		keys = append(keys, p.key)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if n := len(keys) - prefixedMost; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:prefixedMost], ", "), n)
	}
	return strings.Join(keys, ", ")
}

// onlyPrefix returns what to set key_prefix to, "" where the keys do not agree.
func onlyPrefix(list []prefixed) string {
	for _, p := range list {
		if p.before != list[0].before {
			return ""
		}
	}
	return fmt.Sprintf(" = %q", list[0].before)
}

// OtherPrefixes returns what else stands before keys that would be the topic's without it, and behind which no sidecar has
// lived for a day. Lists have none: the end of one's name may well be another's.
func (s *KeysSeen) OtherPrefixes(ctx context.Context, topic Options) []string {
	if topic.List != nil {
		return nil
	}
	others := make(map[string]bool)
	for _, p := range s.prefixed[topic.Topic] {
		if _, asked := s.lived[p.before]; !asked {
			s.lived[p.before] = Lived(ctx, s.rdb, p.before)
		}
		if !s.lived[p.before] {
			others[p.before] = true
		}
	}
	return slices.Sorted(maps.Keys(others))
}

// absent returns those of topics that have no keys. One that may not be asked for is not among them.
func absent(ctx context.Context, rdb redis.UniversalClient, prefix string, topics []Options) (none []Options) {
	counts, _ := KeysOf(ctx, rdb, prefix, topics)
	for i, n := range counts {
		if n == 0 {
			none = append(none, topics[i])
		}
	}
	return none
}

// KeysOf counts the keys with jobs that each of the topics has, in one call; -1 where that is not known, and why not, of
// the first of those.
func KeysOf(ctx context.Context, rdb redis.UniversalClient, prefix string, topics []Options) (counts []int64, why error) {
	there := make([]*redis.IntCmd, len(topics))
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
		for i, opts := range topics {
			there[i] = p.Exists(ctx, keysOf(prefix, opts).roles()...)
		}
		return nil
	})
	counts = make([]int64, len(topics))
	for i, cmd := range there {
		n, err := cmd.Result()
		if counts[i] = n; err != nil {
			counts[i], why = -1, cmp.Or(why, err)
		}
	}
	return counts, why
}
