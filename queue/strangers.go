package queue

import (
	"maps"
	"slices"
	"strings"

	"sidecar/compat"
)

// Strangers returns the names of topics that have keys under the prefix and are none of topics: nobody here consumes them.
func (s *KeysSeen) Strangers(topics []Options) []string {
	names := slices.Sorted(maps.Keys(s.here))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(topics, func(o Options) bool { return o.List == nil && o.Topic == name })
	})
}

// noteHere keeps the topic of a key under the prefix.
func (s *KeysSeen) noteHere(key string) {
	if name := topicOfKey(s.prefix, key); name != "" {
		s.here[name] = true
	}
}

// topicOfKey returns the topic whose pool, ready or running key it is, "" if it is none. Dead jobs wait for nobody.
func topicOfKey(prefix, key string) string {
	parts := strings.SplitN(strings.TrimPrefix(key, prefix), ":", 3)
	if len(parts) < 3 {
		return ""
	}
	if k := compat.NewDelayKeys(prefix, parts[2]); key == k.Pool || key == k.Ready || key == k.Running {
		return parts[2]
	}
	return ""
}
