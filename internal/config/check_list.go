package config

import (
	"fmt"
	"slices"
	"strings"

	"sidecar/compat"
	"sidecar/queue"
)

// checkLists looks at what no list can see alone: its name and its keys among those of the others.
func (b *builder) checkLists(lists []listTable) {
	var seen []listTable // those before, whose keys are known
	for _, l := range lists {
		if slices.ContainsFunc(b.cfg.Topics, func(topic Topic) bool { return topic.Name == l.Name }) {
			l.faults(fmt.Errorf("name: want another one than that of topic %q: metrics, logs and verbs know both by their names", l.Name))
		}
		for _, other := range lists {
			if other.Name != l.Name && other.Queue.List.Key == l.Name {
				l.faults(fmt.Errorf("name: want another one than the key of list %q: the probe knows lists by both", other.Name))
			}
		}
		if l.Queue.List.Validate() != nil || l.bad["key"] || l.bad["shards"] || l.bad["dead"] {
			continue // whatever its keys are to be
		}
		b.checkKeys(l, lists, seen)
		b.adviseList(l)
		seen = append(seen, l)
	}
}

// checkKeys refuses a list whose jobs are another one's, too, or dead letters, and one that no script can move.
// To share the dead letter list is fine.
func (b *builder) checkKeys(l listTable, all, seen []listTable) {
	o, keys := l.Queue.List, b.listKeys(l)
	if slices.Contains(keys.Lists, keys.Dead) {
		l.faults(fmt.Errorf("dead = %q: want another list than the one that its jobs are taken from", o.Dead), b.defaults)
	}
	for _, other := range all { // not all their keys may be known
		dead := other.Queue.List.Dead
		if other.Name != l.Name && slices.Contains(keys.Lists, b.cfg.Redis.KeyPrefix+dead) {
			l.faults(fmt.Errorf("key = %q: want a list of jobs: list %q puts its dead letters into %s", o.Key, other.Name, dead))
			break
		}
	}
	for _, other := range seen {
		if key := firstShared(keys, b.listKeys(other)); key != "" {
			l.faults(fmt.Errorf("key = %q: want another one than that of list %q: two consumers of %s would take each other's jobs", o.Key, other.Name, key))
			break
		}
	}
	if outside := keys.OutsideSlot(); b.cfg.Redis.Cluster && outside != "" {
		l.faults(fmt.Errorf(`key = %q: %s and %s lie on different nodes of a Cluster: want one hash tag in key and dead, as in "queue:{prod}:%s", or in key_prefix, which PHP must use too`,
			o.Key, keys.Lists[0], outside, l.Name))
	}
}

func (b *builder) listKeys(l listTable) compat.ListKeys {
	o := l.Queue.List
	return compat.NewListKeys(b.cfg.Redis.KeyPrefix, o.Key, o.Dead, o.Shards)
}

// firstShared returns a key that one consumer alone may have and both have, "" if there is none.
func firstShared(a, b compat.ListKeys) string {
	for _, key := range append(slices.Clone(a.Lists), a.Running) {
		if key == b.Running || slices.Contains(b.Lists, key) {
			return key
		}
	}
	return ""
}

// adviseList warns about what will run, but hardly as meant.
func (b *builder) adviseList(l listTable) {
	o := l.Queue.List
	at := l.table
	if !l.has("order") && b.defaults.has("order") {
		at = b.defaults
	}
	if o.Order == queue.LIFO {
		b.warn(at.line("order"), "%sorder = %q: the newest job always goes first, so that old ones wait for as long as new ones come; %q takes the oldest", at.label, o.Order, queue.FIFO)
	}
	if prefix := b.cfg.Redis.KeyPrefix; prefix != "" && strings.HasPrefix(o.Key, prefix) {
		b.warn(l.line("key"), "%skey = %q: it begins with key_prefix, which is put before it all the same: want the key without", l.label, o.Key)
	}
}
