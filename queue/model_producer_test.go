package queue_test

import (
	"context"
	"strconv"

	"pgregory.net/rapid"
)

// uuids are those of the jobs that are produced.
var uuids = []string{"a", "b", "c"}

// produced are the texts that are produced, over and over. The last ones are no jobs.
var produced = []string{
	`{"uuid":"a","n":1.0,"o":{},"path":"x\/y"}`,
	`{"uuid":"b","retry":1,"big":12345678901234567890}`,
	`{"retry":0,"uuid":"c"}`,
	`{"no":"uuid"}`,
	"caf\xe9",
	`{"sidecar_raw":"Y2Fm"}`,
}

func (w *world) produce(t *rapid.T) {
	text := pick(t, "text", append(produced, produced[0], produced[0], produced[2])...)
	delay := pick(t, "delay", 0.0, 0, 3000)
	w.take(t, step{produced: true}, func() {
		due := (w.m.ms() + delay) / w.m.unit
		w.add(t, w.m.keys.Pool, text, due, func() { w.m.ledger.of(text).made++ })
	})
}

// scribble is a record in dead that is none.
func (w *world) scribble(t *rapid.T) {
	w.take(t, step{produced: true}, func() {
		w.both(t, func() {
			w.m.push(w.m.keys.Dead, "no record")
			w.m.ledger.of("no record").made++
		}, "RPUSH", w.m.keys.Dead, "no record")
	})
}

// add is a client's ZADD, in Redis and in the model; made is done when Redis took it.
func (w *world) add(t *rapid.T, key, text string, score float64, made func()) {
	w.both(t, func() {
		w.m.touch(key)
		made()
		w.m.add(key, text, score, false)
	}, "ZADD", key, strconv.FormatFloat(score, 'f', -1, 64), text)
}

// both does a command in Redis and in the model: either both refuse it, or neither.
func (w *world) both(t *rapid.T, inModel func(), args ...any) bool {
	err := w.admin.Do(context.Background(), args...).Err()
	want := errFull
	if !w.m.full || args[0] != "ZADD" && args[0] != "RPUSH" && args[0] != "SET" {
		want = try(inModel)
	}
	if (w.fine(err) == nil) != (want == nil) {
		t.Fatalf("%q says %v, want %v", args, err, want)
	}
	return want == nil
}
