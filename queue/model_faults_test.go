package queue_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// loseEntry is an entry of pool or running that somebody deletes, or that a failover forgot.
func (w *world) loseEntry(t *rapid.T) {
	key := pick(t, "key", w.m.keys.Running, w.m.keys.Pool)
	texts := slices.Sorted(maps.Keys(w.m.sets[key]))
	if len(texts) == 0 || w.m.broken[key] {
		t.SkipNow()
	}
	text := pick(t, "text", texts...)
	w.take(t, step{}, func() {
		w.both(t, func() {
			w.m.remove(key, text)
			w.m.ledger.of(text).lost++
		}, "ZREM", key, text)
	})
}

// deleteKey is a whole key that is deleted or evicted.
func (w *world) deleteKey(t *rapid.T) {
	key := pick(t, "key", w.fourKeys()...)
	if w.m.broken[key] || len(w.m.sets[key])+len(w.m.lists[key]) == 0 {
		t.SkipNow()
	}
	w.take(t, step{}, func() {
		w.both(t, func() {
			for _, text := range append(slices.Collect(maps.Keys(w.m.sets[key])), w.m.lists[key]...) {
				w.m.ledger.of(text).lost++
			}
			if w.m.sets[key] != nil {
				w.m.sets[key] = map[string]float64{}
			}
			w.m.lists[key] = nil
		}, "DEL", key)
	})
}

func (w *world) fourKeys() []string {
	return []string{w.m.keys.Running, w.m.keys.Pool, w.m.keys.Ready, w.m.keys.Dead}
}

// redisFails begins a fault of Redis that lasts until it is mended.
func (w *world) redisFails(t *rapid.T) {
	switch pick(t, "how", "wrong type", "wrong type", "no right", "full", "scripts forgotten") {
	case "wrong type":
		w.breakKey(t)
	case "no right":
		w.denyKey(t)
	case "full":
		w.fill(t, true)
	case "scripts forgotten":
		w.must(t, "SCRIPT", "FLUSH")
	}
}

// breakKey puts something of another type in a key's place.
func (w *world) breakKey(t *rapid.T) {
	key := pick(t, "key", w.fourKeys()...)
	if w.m.broken[key] || w.m.full {
		t.SkipNow()
	}
	if len(w.m.sets[key])+len(w.m.lists[key]) > 0 {
		w.must(t, "RENAME", key, aside+key)
	}
	w.must(t, "SET", key, "x")
	w.m.broken[key] = true
}

// denyKey takes from the sidecars' user the right to one key.
func (w *world) denyKey(t *rapid.T) {
	w.allow(t, pick(t, "key", append(w.fourKeys(), w.m.keys.Idem("*"))...))
}

// allow gives the sidecars' user all keys but one.
func (w *world) allow(t *rapid.T, denied string) {
	w.m.denied = denied
	rules := []any{"ACL", "SETUSER", "app", "resetkeys", "~clock"}
	for _, key := range append(w.fourKeys(), w.m.keys.Idem("*")) {
		if key != denied {
			rules = append(rules, "~"+key)
		}
	}
	w.must(t, rules...)
}

func (w *world) fill(t *rapid.T, full bool) {
	most := "0"
	if w.m.full = full; full {
		most = "1"
	}
	w.must(t, "CONFIG", "SET", "maxmemory", most)
}

// mend takes every fault of Redis back.
func (w *world) mend(t *rapid.T) {
	w.fill(t, false)
	w.allow(t, "")
	for _, key := range w.fourKeys() {
		if !w.m.broken[key] {
			continue
		}
		w.must(t, "DEL", key)
		if len(w.m.sets[key])+len(w.m.lists[key]) > 0 {
			w.must(t, "RENAME", aside+key, key)
		}
		delete(w.m.broken, key)
	}
}
