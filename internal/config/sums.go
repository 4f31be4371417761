package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// sumGroups are the options that decide what becomes of a topic's job, in groups that are told apart. Those that a host may well have for
// itself (workers, weight, rate, the pool …) are in none.
var sumGroups = [][]string{
	{"call", "script", "bootstrap", "mode", "bridge", "route"},
	{"exit_ok", "fail_on_false", "success_body"},
	{"timeout", "abandon_after", "memory_limit"},
	{"retry", "max_crashes", "max_retry"},
	{"score_unit", "key", "shards", "order", "dead"},
	{"idempotency"},
	{"encoding", "decode_limit"},
	{"lease"},
	{"pause_windows"},
	{"timezone"},
}

// sumLength is how many digits of a group's sum are kept: enough to see that two differ, and nothing to find a value by.
const sumLength = 4

// Sums returns a text in which a topic's options are hidden, so that two sidecars can see whether theirs are the same.
func (c *Config) Sums(t Topic) string {
	tables := map[string]options{}
	addTopic(tables, t)
	var routes strings.Builder
	own := options{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if !strings.Contains(name, ": route ") {
			own = tables[name]
			continue
		}
		for _, option := range slices.Sorted(maps.Keys(tables[name])) {
			fmt.Fprintf(&routes, "%q %s %q\n", name, option, content(tables[name][option]))
		}
	}
	own["route"], own["timezone"] = reflect.ValueOf(routes.String()), reflect.ValueOf(c.Timezone)
	var all strings.Builder
	for _, group := range sumGroups {
		var text strings.Builder
		for _, option := range group {
			fmt.Fprintf(&text, "%s %q\n", option, content(own[option]))
		}
		sum := sha256.Sum256([]byte(text.String()))
		all.WriteString(hex.EncodeToString(sum[:])[:sumLength])
	}
	return all.String()
}

// Differ returns the options some of which differ between two topics with those sums, a group an entry; none where either
// is of a version with other groups.
func Differ(a, b string) (groups [][]string) {
	if len(a) != len(b) || len(a) != sumLength*len(sumGroups) {
		return nil
	}
	for i, group := range sumGroups {
		if at := i * sumLength; a[at:at+sumLength] != b[at:at+sumLength] {
			groups = append(groups, group)
		}
	}
	return groups
}
