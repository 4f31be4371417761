package queue_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"sidecar/compat"
	"sidecar/queue"
)

// sidecar is one of ours: a Consumer that takes a step when it is told to.
type sidecar struct {
	name    string
	store   *queue.Store
	steps   *queue.Steps
	running []*queue.Held // whose runs have not ended
}

func (w *world) newSidecar(name string) *sidecar {
	store := queue.NewStore(w.app, "", w.opts)
	return &sidecar{name: name, store: store, steps: queue.NewSteps(w.opts, store, w.metrics)}
}

// offers are the actions whose verdicts wait in groups of their own.
var offers = []queue.Action{queue.Complete, queue.Requeue, queue.GiveBack, queue.Bury}

// turn is what may happen next, and how often it does beside the others.
type turn struct {
	name   string
	weight int
	do     func(*rapid.T)
}

// turns are all that can happen.
func (w *world) turns() []turn {
	return []turn{
		{"time passes", 3, w.timePasses},
		{"produce", 6, w.produce},
		{"promote", 5, w.ofOne(func(t *rapid.T, s *sidecar) { w.ours(t, s, step{}, s.steps.Promote) })},
		{"claim", 7, w.ofOne(func(t *rapid.T, s *sidecar) { w.claim(t, s, pick(t, "n", 3, 1, 0, 4)) })},
		{"a run ends", 9, w.ofOne(w.someRunEnds)},
		{"offer verdicts", 10, w.ofOne(w.offerSome)},
		{"renew", 4, w.ofOne(func(t *rapid.T, s *sidecar) { w.ours(t, s, step{}, s.steps.Renew) })},
		{"expire", 4, w.ofOne(func(t *rapid.T, s *sidecar) { w.ours(t, s, step{expires: true}, s.steps.Expire) })},
		{"replay", 2, w.ofOne(w.replay)},
		{"kill a sidecar", 1, w.ofOne(func(_ *rapid.T, s *sidecar) { *s = *w.newSidecar(s.name) })},
		{"old scan", 1, w.oldScan},
		{"old pop", 2, w.oldPop},
		{"old work", 3, w.oldWork},
		{"old reclaim", 1, w.oldReclaim},
		{"old replay", 1, w.oldReplay},
		{"scribble into dead", 1, w.scribble},
		{"lose an entry", 1, w.loseEntry},
		{"delete a key", 1, w.deleteKey},
		{"Redis fails", 2, w.redisFails},
		{"mend", 8, w.mend},
	}
}

// actions are rapid's: one, that gives the turn by the weights.
func (w *world) actions() map[string]func(*rapid.T) {
	turns := w.turns()
	var names []string
	for _, one := range turns {
		for range one.weight {
			names = append(names, one.name)
		}
	}
	return map[string]func(*rapid.T){"next": func(t *rapid.T) {
		name := pick(t, "turn", names...)
		turns[slices.IndexFunc(turns, func(one turn) bool { return one.name == name })].do(t)
	}}
}

// pick draws one of list, each as likely as the others; rapid's own generators prefer what comes first.
func pick[V any](t *rapid.T, what string, list ...V) V {
	return rapid.Custom(func(t *rapid.T) V {
		n := 0
		for range 10 {
			n *= 2
			if rapid.Bool().Draw(t, "") {
				n++
			}
		}
		return list[n*len(list)>>10]
	}).Draw(t, what)
}

// ofOne gives the turn to one of the sidecars.
func (w *world) ofOne(do func(*rapid.T, *sidecar)) func(*rapid.T) {
	return func(t *rapid.T) {
		who := pick(t, "who", "A", "B")
		do(t, w.sidecars[slices.IndexFunc(w.sidecars, func(s *sidecar) bool { return s.name == who })])
	}
}

func (w *world) timePasses(t *rapid.T) {
	w.tick(t, pick(t, "time", 4*time.Second, 31*time.Second, 31*time.Second, 10*time.Minute))
}

func (w *world) someRunEnds(t *rapid.T, s *sidecar) {
	if len(s.running) == 0 {
		t.SkipNow()
	}
	w.runEnds(t, s, rapid.IntRange(0, len(s.running)-1).Draw(t, "of"), drawOutcome(t))
}

func (w *world) offerSome(t *rapid.T, s *sidecar) {
	waiting := slices.DeleteFunc(slices.Clone(offers), func(a queue.Action) bool { return s.steps.Pending(a) == 0 })
	if len(waiting) == 0 {
		t.SkipNow()
	}
	w.offer(t, s, pick(t, "what", waiting...))
}

func drawOutcome(t *rapid.T) compat.Outcome {
	verdict := pick(t, "verdict", compat.Done, compat.Done, compat.Failed, compat.Failed, compat.TimedOut,
		compat.Rejected, compat.Rejected, compat.Crashed, compat.Unavailable, compat.Unavailable, compat.Deferred)
	held := pick(t, "held", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 1
	return compat.Outcome{Verdict: verdict, Error: `no "luck"/`, Delay: 2 * time.Second, Held: held}
}

// ours is a step of a sidecar. Any one of the commands it sends may meet a fault.
func (w *world) ours(t *rapid.T, s *sidecar, what step, do func(context.Context) error) {
	fault, at := w.drawFault(t)
	what.sidecar, what.leases = s.name, s.steps.Leases()
	w.take(t, what, func() {
		s.steps.At(queue.ServerTime(w.m.now))
		w.wire.begin(fault, at)
		w.wire.time = queue.ServerTime(w.m.now).In(time.UTC)
		_ = do(context.Background()) // what it did shows in the keys; what it believes, in its later steps
		w.replayCalls(t)
	})
}

// drawFault draws what happens to which of the next commands: mostly nothing.
func (w *world) drawFault(t *rapid.T) (fault wireFault, at int) {
	if w.calm || pick(t, "well", true, true, true, true, false) {
		return 0, 0
	}
	return pick(t, "fault", cutAfter, cutAfter, cutBefore, noDial, loading, readOnly), pick(t, "at command", 0, 0, 1, 2)
}

// replayCalls lets the model do what the sidecar's calls did, and compares the answers.
func (w *world) replayCalls(t *rapid.T) {
	for _, c := range w.wire.calls {
		if !c.ran {
			w.note(c)
			continue
		}
		reply, err := w.m.apply(c)
		if (err == nil) != (c.err == nil) {
			t.Logf("%s%q says %v, want %v", c.verb, c.args, c.err, err)
			t.Fatalf("%s fails, or should", c.verb)
		}
		if err == nil && !slices.Equal(answer(c), reply) {
			t.Logf("%s%q says %q, want %q", c.verb, c.args, answer(c), reply)
			t.Fatalf("%s says another thing than the model", c.verb)
		}
		w.note(c)
	}
}

// answer is what a reply says of texts.
func answer(c call) (entries []string) {
	list, ok := c.reply.([]any)
	if !ok {
		return []string{fmt.Sprint(c.reply)}
	}
	switch c.verb {
	case "promote":
		list = list[1:2]
	case "claim":
		list = list[4:]
	case "expired":
		list = list[1:]
	}
	for i, entry := range list {
		if c.verb == "expired" && i%2 == 1 {
			continue // a lease
		}
		if entry == nil {
			entry = "" // a twin that was put off
		}
		text := fmt.Sprint(entry)
		if _, isText := entry.(string); isText && c.verb != "claim" && c.verb != "expired" {
			text = "refused"
		}
		entries = append(entries, text)
	}
	return entries
}

// note writes down which claims begin, and which leases they may have.
func (w *world) note(c call) {
	switch c.verb {
	case "claim":
		if list, ok := c.reply.([]any); ok && c.err == nil {
			for i, text := range answer(c) {
				w.story[claimKey{text, number(fmt.Sprint(list[1])) + float64(i)*leaseStep}] = &claimed{}
			}
		}
	case "renew":
		for part := range slices.Chunk(c.args, 3) {
			w.story[claimKey{part[0], number(part[2])}] = w.story.of(part[0], part[1]) // also if it came to nothing
		}
	}
}

func (w *world) claim(t *rapid.T, s *sidecar, n int) {
	var begun []*queue.Held
	w.ours(t, s, step{}, func(ctx context.Context) (err error) {
		take, stop := context.WithCancel(ctx)
		defer stop()
		w.wire.noMarks = stop // it would ask again until Redis answers
		begun, err = s.steps.Claim(take, n)
		return err
	})
	s.running = append(s.running, begun...)
	for key, c := range w.story {
		w.believeMark(key.text, c)
	}
}

// believeMark notes that a claim of text may be completed without a run: a mark that counts says so.
func (w *world) believeMark(text string, c *claimed) {
	key := w.markOf(text)
	mark := w.m.marks[key]
	if w.opts.Idempotency == queue.IdempotencyOff || mark != "done" && (mark != "1" || w.opts.Idempotency != queue.IdempotencyLegacy) {
		return
	}
	c.done, w.finished[key] = true, true
}

// markOf returns the key of the text's mark, "" when it can have none.
func (w *world) markOf(text string) string {
	job, err := compat.ParseJob(text)
	if err != nil || job.UUID() == "" {
		return ""
	}
	return w.m.keys.Idem(job.UUID())
}

func (w *world) runEnds(t *rapid.T, s *sidecar, i int, o compat.Outcome) {
	h := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	if o.Verdict == compat.Done && !o.Held {
		w.story.of(h.Text(), string(h.Lease())).done = true
		w.finished[w.markOf(h.Text())] = true
	}
	s.steps.At(queue.ServerTime(w.m.now))
	s.steps.End(h, o)
}

func (w *world) offer(t *rapid.T, s *sidecar, action queue.Action) {
	w.ours(t, s, step{}, func(ctx context.Context) error { s.steps.Offer(ctx, action); return nil })
}

func (w *world) replay(t *rapid.T, s *sidecar) {
	limit := pick(t, "limit", 1, 3)
	w.ours(t, s, step{replays: true}, func(ctx context.Context) error {
		_, err := s.store.Replay(ctx, limit, false, time.UTC)
		return err
	})
}
