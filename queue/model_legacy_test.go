package queue_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sidecar/compat"
)

// The others: old consumers with their exact scripts and the order of their commands (CONTRACT 1.1, 1.3, 1.5), whose
// losses the ledger calls theirs; and what happens to a Redis.

// oldWorker is a worker of the old consumer between two of its commands, or an old replay script.
type oldWorker struct {
	text   string // what it popped; "" while it has nothing
	failed bool   // it has removed the text from running, and is to add it elsewhere
	holds  bool   // that removal found the text, so no key has it now
	replay bool   // text is a dead record on its way to the pool
}

const (
	oldVisible = 30_000 // ms
	oldBack    = 5_000  // ms
)

// oldNow is the old consumers' clock, in whole milliseconds.
func (w *world) oldNow() float64 { return float64(int64(w.m.ms() + w.oldClock)) }

// old is a turn of the old side. It knows scores in milliseconds only.
func (w *world) old(t *rapid.T, s step, do func()) {
	if w.m.unit != 1 {
		t.SkipNow()
	}
	w.take(t, s, do)
}

// script runs one of the old scripts, in Redis and in the model.
func (w *world) script(t *rapid.T, name string, inModel func(), keys []string, args ...any) {
	source, err := os.ReadFile("../testdata/legacy/lua/" + name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	err = w.admin.Eval(context.Background(), string(source), keys, args...).Err()
	if want := try(inModel); (w.fine(err) == nil) != (want == nil) {
		t.Fatalf("%s says %v, want %v", name, err, want)
	}
}

var errFull = errors.New("OOM")

// fine takes "there is none" for no error.
func (w *world) fine(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

func (w *world) oldScan(t *rapid.T) {
	w.old(t, step{}, func() {
		now, batch := w.oldNow(), 2
		w.script(t, "delay_move", func() {
			w.m.touch(w.m.keys.Ready)
			if len(w.m.lists[w.m.keys.Ready]) >= w.opts.ReadyMax {
				return
			}
			for _, text := range w.m.until(w.m.keys.Pool, now, batch) {
				w.m.remove(w.m.keys.Pool, text)
				w.m.push(w.m.keys.Ready, text)
			}
		}, []string{w.m.keys.Pool, w.m.keys.Ready}, now, batch, w.opts.ReadyMax)
	})
}

func (w *world) oldReclaim(t *rapid.T) {
	w.old(t, step{}, func() {
		now, batch := w.oldNow(), 2
		w.script(t, "reclaim", func() {
			for _, text := range w.m.until(w.m.keys.Running, now, batch) {
				w.m.remove(w.m.keys.Running, text)
				w.lostIf(text, try(func() { w.m.add(w.m.keys.Pool, text, now+oldBack, false) }))
			}
		}, []string{w.m.keys.Running, w.m.keys.Pool}, now, batch, oldBack)
	})
}

// lostIf counts a copy that an old script or client removed and could not add, and ends the script there.
func (w *world) lostIf(text string, err error) {
	if err != nil {
		w.m.ledger.of(text).lost++
		panic(err)
	}
}

// oldPop is pop_mark, and the mark before the work.
func (w *world) oldPop(t *rapid.T) {
	o := w.oldWorkerThat(t, func(o *oldWorker) bool { return o.text == "" })
	w.old(t, step{}, func() {
		deadline := w.oldNow() + oldVisible
		w.script(t, "pop_mark", func() {
			text, ok := w.m.pop(w.m.keys.Ready)
			if !ok {
				return
			}
			w.lostIf(text, try(func() { w.m.add(w.m.keys.Running, text, deadline, false) }))
			o.text = text
		}, []string{w.m.keys.Ready, w.m.keys.Running}, deadline)
		if o.text == "" || !w.oldMarks || w.markOf(o.text) == "" {
			return
		}
		key := w.markOf(o.text)
		if w.m.marks[key] == "" {
			w.both(t, func() { w.m.marks[key] = "1" }, "SET", key, "1", "NX", "EX", 86400)
			return
		}
		w.zrem(t, o) // done earlier, it believes
		*o = oldWorker{}
	})
}

func (w *world) oldWorkerThat(t *rapid.T, is func(*oldWorker) bool) *oldWorker {
	i := slices.IndexFunc(w.workers, is)
	if i < 0 || w.m.unit != 1 {
		t.SkipNow()
	}
	return w.workers[i]
}

// zrem takes the text out of running, whoever holds it there. A copy that it removes is done.
func (w *world) zrem(t *rapid.T, o *oldWorker) {
	w.both(t, func() {
		o.holds = w.m.remove(w.m.keys.Running, o.text)
		if o.holds {
			w.m.ledger.of(o.text).done++
		}
	}, "ZREM", w.m.keys.Running, o.text)
}

// oldWork is the next command of an old worker, or its death.
func (w *world) oldWork(t *rapid.T) {
	o := w.oldWorkerThat(t, func(o *oldWorker) bool { return o.text != "" })
	what := pick(t, "what", "succeeds", "fails", "fails", "dies")
	w.old(t, step{replays: o.replay}, func() {
		switch {
		case what == "dies":
			w.die(o)
		case o.replay:
			w.oldReplayed(t, o)
		case o.failed:
			w.oldRetry(t, o)
		default:
			w.zrem(t, o)
			if what == "succeeds" {
				*o = oldWorker{}
				return
			}
			if o.failed = true; o.holds { // not done: it is to come back
				w.m.ledger.of(o.text).done--
				w.m.ledger.of(o.text).carried++
			}
		}
	})
}

// oldRetry adds what failed: to the pool, or above the limit to dead. A text that is no job kills the worker.
func (w *world) oldRetry(t *rapid.T, o *oldWorker) {
	job, err := compat.ParseJob(o.text)
	if err != nil {
		w.die(o)
		return
	}
	job = job.WithTries(job.Tries() + 1).WithLastError("old")
	if job.Tries() > 5 {
		w.oldReadd(t, o, w.m.keys.Dead, compat.DeadRecord{Job: job.Raw(), At: "2026-01-02 03:04:05"}.Text())
		return
	}
	w.oldReadd(t, o, w.m.keys.Pool, job.Raw())
}

// oldReadd is the second half of a failure or of a replay. Where it does not come through, the job is lost.
func (w *world) oldReadd(t *rapid.T, o *oldWorker, key, text string) {
	account := w.m.ledger.of(o.text)
	args := []any{"ZADD", key, strconv.FormatFloat(w.oldNow()+oldBack, 'f', -1, 64), text}
	if key == w.m.keys.Dead {
		args = []any{"RPUSH", key, text}
	}
	added := w.both(t, func() {
		w.m.touch(key)
		if !o.holds {
			account.made++
		}
		if key == w.m.keys.Dead {
			w.m.push(key, text)
			return
		}
		w.m.add(key, text, w.oldNow()+oldBack, false)
	}, args...)
	if o.holds {
		account.carried--
		if !added {
			account.lost++
		}
	}
	*o = oldWorker{}
}

// die ends an old process. What it carried is lost.
func (w *world) die(o *oldWorker) {
	if o.holds && (o.failed || o.replay) {
		w.m.ledger.of(o.text).carried--
		w.m.ledger.of(o.text).lost++
	}
	*o = oldWorker{}
}

func (w *world) oldReplay(t *rapid.T) {
	o := w.oldWorkerThat(t, func(o *oldWorker) bool { return o.text == "" })
	w.old(t, step{}, func() {
		w.both(t, func() {
			record, ok := w.m.pop(w.m.keys.Dead)
			if !ok {
				return
			}
			*o = oldWorker{text: record, replay: true, holds: true}
			w.m.ledger.of(record).carried++
		}, "LPOP", w.m.keys.Dead)
	})
}

// oldReplayed adds what was in the record. Of one that it cannot read, it makes a job of nothing: the record is lost.
func (w *world) oldReplayed(t *rapid.T, o *oldWorker) {
	record, err := compat.ParseDeadRecord(o.text)
	if err != nil {
		w.die(o)
		return
	}
	w.oldReadd(t, o, w.m.keys.Pool, record.ReplayText("2026-01-02 03:04:05"))
}
