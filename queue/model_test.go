package queue_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// The model test: two sidecars, old scanners and workers, a producer, people who delete keys, and a Redis that fails
// in every way take turns, in an order that chance gives. After each turn Redis must hold what the model holds
// (model_keys_test.go, model_scripts_test.go), and the invariants must hold (model_invariants_test.go).
//
// The sidecars are real Consumers, taken apart into their steps; the scripts are the shipped ones, by a clock that
// the test sets. So a sequence that fails fails again, and rapid cuts it down to the steps that matter.
func TestModelOfTheKeys(t *testing.T) {
	for _, kind := range []struct {
		marks queue.Idempotency
		unit  queue.ScoreUnit
	}{
		{queue.IdempotencyOff, queue.Milliseconds},
		{queue.IdempotencyOn, queue.Milliseconds},
		{queue.IdempotencyLegacy, queue.Milliseconds},
		{queue.IdempotencyOn, queue.Seconds}, // of which the old side knows nothing
	} {
		t.Run(fmt.Sprintf("marks %s, scores in %s", kind.marks, kind.unit), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, testenv.Redis(t), kind.marks, kind.unit, asShipped)
			rapid.Check(t, w.live)
		})
	}
}

// world is the model, the real keys beside it, and all who act on them.
type world struct {
	opts    queue.Options
	admin   *redis.Client // of everybody but the sidecars
	app     *redis.Client // of the sidecars
	metrics *queue.Metrics
	wire    *wire

	m        *model
	sidecars []*sidecar
	workers  []*oldWorker
	oldClock float64 // how far the old consumers' clock is ahead, ms
	oldMarks bool    // the old workers set marks
	story    story
	finished map[string]bool // keys of the marks that may say done
	calm     bool            // nothing fails any more
}

func newWorld(t testing.TB, server *testenv.RedisServer, mode queue.Idempotency, unit queue.ScoreUnit, mutate func(verb, source string) string) *world {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers, opts.Idempotency, opts.ScoreUnit = "mail", 2, mode, unit
	opts.Batch, opts.ReadyMax, opts.MaxCrashes = 3, 4, 1
	opts.Retry = []time.Duration{0, 20 * time.Second} // the first is that of a crash, and chance must not spread it
	w := &world{
		opts: opts, admin: server.Client(),
		wire:    newWire(t, func(verb, source string) string { return modelClock + mutate(verb, source) }),
		metrics: queue.NewMetrics(prometheus.NewRegistry(), []string{opts.Topic}),
	}
	w.app = w.wire.client(t, server, "app")
	return w
}

// live is one life of the topic, from empty keys until all its jobs have come to an end.
func (w *world) live(t *rapid.T) {
	w.reset(t)
	// Odd, so that no old worker's deadline is a score that a renewal asked for: both are whole milliseconds.
	w.oldClock = pick(t, "old clock ahead", 0.0, -2037, 40_013)
	w.oldMarks = pick(t, "old marks", false, true)
	for range 3 { // rapid's default is a few steps for one story
		t.Repeat(w.actions())
	}
	w.end(t)
}

// reset begins a life.
func (w *world) reset(t *rapid.T) {
	w.m = newModel(compat.NewDelayKeys("", w.opts.Topic), w.opts)
	w.story, w.finished = story{}, map[string]bool{}
	w.sidecars = []*sidecar{w.newSidecar("A"), w.newSidecar("B")}
	w.workers, w.calm = []*oldWorker{{}, {}}, false
	w.must(t, "CONFIG", "SET", "maxmemory", "0")
	w.must(t, "FLUSHALL")
	w.must(t, "ACL", "SETUSER", "app", "reset", "on", ">pw", "+@all")
	w.allow(t, "")
	w.load(t)
	w.tick(t, 0)
}

// load loads the scripts, so that a life does not depend on those before it.
func (w *world) load(t *rapid.T) {
	for _, sha := range slices.Sorted(maps.Keys(w.wire.scripts)) {
		w.must(t, "SCRIPT", "LOAD", w.wire.scripts[sha].source)
	}
}

// must runs a command of the test's own.
func (w *world) must(t *rapid.T, args ...any) {
	if err := w.admin.Do(context.Background(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// tick lets time pass. Some always does: no two things happen at the same moment, and a step takes less of this
// host's own time, by which the sidecars reckon on from Redis's last reply.
func (w *world) tick(t *rapid.T, d time.Duration) {
	w.m.now += d.Microseconds() + 100_001
	// In a script that first removes, or a full Redis would refuse it.
	w.must(t, "EVAL", "redis.call('DEL', KEYS[1]); return redis.call('RPUSH', KEYS[1], ARGV[1], ARGV[2])", 1, "clock", w.m.now/1_000_000, w.m.now%1_000_000)
}

// take does one step and checks everything.
func (w *world) take(t *rapid.T, s step, do func()) {
	w.tick(t, 0)
	s.before, s.now, s.texts = w.m.state(), w.m.ms(), w.inHand()
	w.m.effects = nil
	do()
	s.after = w.observe(t)
	if want := w.m.state(); s.after.String() != want.String() {
		t.Logf("before\n%s\nRedis holds\n%s\nwant\n%s", s.before, s.after, want)
		t.Fatal("Redis holds other things than the model") // no times in it: rapid wants a failure to say the same again
	}
	w.check(t, s)
}

func (w *world) check(t *rapid.T, s step) {
	for _, err := range []error{
		noTextVanishes(s, w.m.ledger),
		nobodySettlesWithoutTheLease(s),
		countsRiseByOne(s),
		marksSayTheTruth(s, w.finished),
		eachClaimIsSettledOnce(w.m.effects, w.story, s.sidecar),
	} {
		if err != nil {
			t.Logf("before\n%s\nafter\n%s", s.before, s.after)
			t.Fatal(err)
		}
	}
}

// inHand lists the texts that somebody holds, in a key or not.
func (w *world) inHand() (texts []string) {
	for _, s := range w.sidecars {
		texts = slices.AppendSeq(texts, maps.Keys(s.steps.Leases()))
	}
	for _, o := range w.workers {
		texts = append(texts, o.text)
	}
	return texts
}

// aside is where a key's content lies while the key is broken.
const aside = "aside:"

// observe reads what Redis holds.
func (w *world) observe(t *rapid.T) state {
	ctx, keys := context.Background(), w.m.keys
	at := func(key string) string {
		if w.m.broken[key] {
			return aside + key
		}
		return key
	}
	var pool, running *redis.ZSliceCmd
	var ready, dead *redis.StringSliceCmd
	var marks *redis.SliceCmd
	var names []string
	for _, uuid := range uuids {
		names = append(names, keys.Idem(uuid))
	}
	_, err := w.admin.Pipelined(ctx, func(p redis.Pipeliner) error {
		pool, running = p.ZRangeWithScores(ctx, at(keys.Pool), 0, -1), p.ZRangeWithScores(ctx, at(keys.Running), 0, -1)
		ready, dead = p.LRange(ctx, at(keys.Ready), 0, -1), p.LRange(ctx, at(keys.Dead), 0, -1)
		marks = p.MGet(ctx, names...)
		return nil
	})
	if err != nil {
		t.Fatalf("read the keys: %v", err)
	}
	s := state{Pool: scores(pool.Val()), Running: scores(running.Val()), Ready: ready.Val(), Dead: dead.Val(), Marks: map[string]string{}}
	for i, mark := range marks.Val() {
		if mark, ok := mark.(string); ok {
			s.Marks[names[i]] = mark
		}
	}
	return s
}

func scores(list []redis.Z) map[string]float64 {
	set := make(map[string]float64, len(list))
	for _, z := range list {
		set[z.Member.(string)] = z.Score
	}
	return set
}

// end mends everything, lets the runs succeed and goes on until no job is left but the dead.
func (w *world) end(t *rapid.T) {
	w.mend(t)
	w.calm = true
	for _, o := range w.workers {
		w.take(t, step{}, func() { w.die(o) })
	}
	for range 40 {
		for _, s := range w.sidecars {
			w.finish(t, s)
		}
		if s := w.m.state(); len(s.Pool)+len(s.Running)+len(s.Ready) == 0 && !w.pending() {
			return
		}
		w.tick(t, 31*time.Second)
	}
	t.Logf("what is left:\n%s", w.m.state())
	t.Fatal("jobs come to no end")
}

// finish does all a sidecar can do now, and every run succeeds.
func (w *world) finish(t *rapid.T, s *sidecar) {
	w.ours(t, s, step{}, s.steps.Promote)
	w.claim(t, s, 10)
	for len(s.running) > 0 {
		w.runEnds(t, s, 0, compat.Outcome{Verdict: compat.Done})
	}
	for _, action := range offers {
		if s.steps.Pending(action) > 0 {
			w.offer(t, s, action)
		}
	}
	w.ours(t, s, step{expires: true}, s.steps.Expire)
}

func (w *world) pending() bool {
	for _, s := range w.sidecars {
		for _, action := range offers {
			if s.steps.Pending(action) > 0 {
				return true
			}
		}
	}
	return false
}
