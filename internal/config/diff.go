package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidecar/queue"
)

// Change is one option that two readings of the configuration have otherwise, or a table that only one of them has.
type Change struct {
	Table    string // such as `topic "mail"`; "" at the top of the file
	Option   string // "" when the table came or went
	From, To string // never a secret; of a table "" where it is not, else "there"
}

// hiddenValue stands for a secret, changed or not.
const hiddenValue = "[hidden]"

// Diff returns what changes from a to b, sorted by table and option.
func Diff(a, b *Config) []Change {
	x, y := tablesOf(a), tablesOf(b)
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(merged(x, y))) {
		before, was := x[name]
		after, is := y[name]
		switch {
		case !was:
			changes = append(changes, Change{Table: name, To: "there"})
		case !is:
			changes = append(changes, Change{Table: name, From: "there"})
		default:
			changes = append(changes, diffOptions(name, before, after)...)
		}
	}
	return changes
}

func merged(x, y map[string]options) map[string]options {
	all := maps.Clone(x)
	maps.Copy(all, y)
	return all
}

func diffOptions(table string, before, after options) (changes []Change) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if content(before[name]) == content(after[name]) {
			continue
		}
		from, to := shown(before[name]), shown(after[name])
		if from == to { // they differ in what is not shown
			from, to = hiddenValue, hiddenValue
		}
		changes = append(changes, Change{table, name, from, to})
	}
	for name := range before {
		if _, is := after[name]; !is {
			changes = append(changes, Change{table, name, shown(before[name]), ""})
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return cmp.Compare(x.Option, y.Option) })
	return changes
}

// content returns what a value is compared by: secrets are in it, so it is for nobody to see.
func content(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	switch value := v.Interface().(type) {
	case queue.Secret:
		return string(value)
	case map[string]queue.Secret:
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(value)) {
			fmt.Fprintf(&all, "%q %q\n", name, string(value[name]))
		}
		return all.String()
	case string:
		return value
	}
	return shown(v)
}

// shown returns a value as a log line shows it.
func shown(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	switch value := v.Interface().(type) {
	case queue.Secret, map[string]queue.Secret:
		return hiddenValue
	case *regexp.Regexp:
		if value == nil {
			return ""
		}
		return value.String()
	case *time.Location:
		return value.String()
	case string:
		if strings.Contains(value, "://") {
			return queue.RedactURL(value)
		}
	case time.Duration:
		return Written(value)
	case []time.Duration:
		return WrittenAll(value, " ")
	}
	return fmt.Sprint(v.Interface())
}

// Written returns d as people write it in the file: 1m, where Go says 1m0s.
func Written(d time.Duration) string {
	text := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-len(nothing)+1]
		}
	}
	return text
}

// WrittenAll returns a ladder as its steps are Written.
func WrittenAll(list []time.Duration, between string) string {
	texts := make([]string, len(list))
	for i, d := range list {
		texts[i] = Written(d)
	}
	return "[" + strings.Join(texts, between) + "]"
}
