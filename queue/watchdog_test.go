package queue_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

func TestAGateThatNeverAnswersIsAStallAndTheConsumerIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, r := newOddGate(4), newRuns()
	gate.breakIt(untilDone, nil)
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, r.handler(done))
	b.ready(t, text("a"), text("b"))
	f.wantStall(t)
	eventually(t, "a line that says what the feeder waits for", func() bool { return f.log.count("feeder=\"waiting for slots for") > 0 })
	gate.breakIt(nil, nil)
	f.wantOver(t)
	eventually(t, "both jobs to be done", func() bool { return b.empty(t) })
	if r.count() != 2 || f.sum(t, "sidecar_loops_abandoned_total") != 0 {
		t.Errorf("%d runs and %v loops abandoned, want 2 and none", r.count(), f.sum(t, "sidecar_loops_abandoned_total"))
	}
	f.stop(t)
	if n := gate.inUse(); n != 0 {
		t.Errorf("%d slots are in use after the end", n)
	}
}

// A loop that hears no cancellation must not keep the consumer from being replaced, nor the process from ending.
func TestALoopThatWillNotEndIsAbandonedAndCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, r, deaf := newOddGate(4), newRuns(), make(chan struct{})
	gate.breakIt(func(context.Context) { <-deaf }, nil)
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, r.handler(done))
	b.ready(t, text("a"))
	f.wantStall(t)
	gate.breakIt(nil, nil)
	f.wantOver(t)
	eventually(t, "the job to be done", func() bool { return b.empty(t) })
	eventually(t, "the loop to be counted", func() bool { return f.sum(t, "sidecar_loops_abandoned_total") >= 1 })
	eventually(t, "the line that names the loop", func() bool { return f.log.count("a loop does not end and is abandoned", "loop=feeder") > 0 })
	f.stop(t)

	// It comes back when nobody expects it any more: it must claim nothing and keep no slot.
	b.ready(t, text("late"))
	close(deaf)
	eventually(t, "the slots to be free", func() bool { return gate.inUse() == 0 && len(gate.free) == cap(gate.free) })
	wait(t.Context(), 200*time.Millisecond)
	wantKeys(t, b, Keys{Ready: []string{text("late")}})
	if r.count() != 1 {
		t.Errorf("%d runs, want 1", r.count())
	}
}

// loaded has Redis know a script and returns what it calls it.
func (b bench) loaded(t testing.TB, script string) string {
	t.Helper()
	source, err := os.ReadFile("lua/" + script + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	sha, err := b.rdb.ScriptLoad(t.Context(), string(source)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

// A call that Redis never answers, on a connection without a timeout: no cancellation ends such a read.
func TestAScannerStuckInACallIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	promote, hung := b.loaded(t, "promote"), make(chan struct{}, 1)
	hung <- struct{}{}
	proxy := newProxy(t, b.server.Addr, func(command []string) string {
		if len(command) > 1 && command[1] == promote {
			select {
			case <-hung:
				return hang
			default:
			}
		}
		return forward
	})
	rdb := redis.NewClient(&redis.Options{Addr: proxy.addr, MaxRetries: -1, DisableIdentity: true, Protocol: 2, ReadTimeout: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	behind := b
	behind.Store = queue.NewStore(rdb, "", queue.Options{Topic: "mail", Batch: 200, ReadyMax: 1000, Lease: 30 * time.Second})
	b.do(t, "ZADD", b.keys.Pool, 1, text("due"))
	r := newRuns()
	f := startWatched(t, behind, b.watch(queue.Options{Topic: "mail"}), newOddGate(4), quickWatch, r.handler(done))
	f.wantStallTold(t)
	eventually(t, "a line that says what the scanner is at", func() bool { return f.log.count("scanner=\"promoting for") > 0 })
	f.wantOver(t)
	eventually(t, "the job to be done", func() bool { return b.empty(t) && r.count() == 1 })
	f.stop(t)
	if f.log.count("a loop does not end and is abandoned", "loop=scanner") != 1 {
		t.Error("the stuck scanner was not counted")
	}
}

// What was in hand goes on: its lease is renewed, its successor neither runs nor expires it, its verdict counts.
func TestWhatAReplacedConsumerHasInHandGoesOnUnderItsLease(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	const lease = 900 * time.Millisecond
	short := func(o *queue.Options) { quickWatch(o); o.Lease = lease }
	behind := benchOn(b.server, short)
	gate, r, release := newOddGate(4), newRuns(), make(chan struct{})
	f := startWatched(t, behind, b.watch(queue.Options{Topic: "mail"}), gate, short, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.UUID() == "long" {
			<-release
		}
		return done
	})
	b.ready(t, text("long"))
	eventually(t, "the long job to run", func() bool { return r.count() == 1 })
	gate.breakIt(untilDone, nil)
	eventually(t, "the feeder to have met the gate", func() bool { // its last claim may be under way
		b.ready(t, text("next"))
		wait(t.Context(), 50*time.Millisecond)
		return b.size(t, b.keys.Ready) > 0
	})
	f.wantStall(t)
	gate.breakIt(nil, nil)
	f.wantOver(t)
	wait(t.Context(), 3*lease) // time enough to expire it, were it taken for a stranger's
	if b.size(t, b.keys.Running) != 1 || r.of("long") != 1 || f.consumer.Health().InHand != 1 {
		t.Errorf("%d in running, %d runs, %d in hand, want 1 each", b.size(t, b.keys.Running), r.of("long"), f.consumer.Health().InHand)
	}
	if f.sum(t, "sidecar_expired_total")+f.sum(t, "sidecar_leases_lost_total") != 0 {
		t.Error("its lease ended, or was lost")
	}
	close(release)
	eventually(t, "all to be done", func() bool { return b.empty(t) })
	if r.of("long") != 1 || r.clash || b.size(t, b.keys.Dead) != 0 {
		t.Errorf("%d runs of the long job, clash %v", r.of("long"), r.clash)
	}
	eventually(t, "nothing to be in hand", func() bool { return f.sum(t, "sidecar_in_hand") == 0 })
}

// What has a reason of its own is no stall.
func TestWhatIsKnownToHinderClaimsIsNoStall(t *testing.T) {
	t.Parallel()
	for name, hinder := range map[string]func(testing.TB, bench, *oddGate){
		"the gate is shut": func(_ testing.TB, _ bench, gate *oddGate) {
			gate.breakIt(untilDone, func() error { return errors.New("php-fpm is not running") })
		},
		"redis has no room":        func(t testing.TB, b bench, _ *oddGate) { b.do(t, "CONFIG", "SET", "maxmemory", 1) },
		"a key is of another type": func(t testing.TB, b bench, _ *oddGate) { b.do(t, "SET", b.keys.Running, "x") },
		"redis is away":            func(_ testing.TB, b bench, _ *oddGate) { b.server.Kill() },
		"nothing is due": func(t testing.TB, b bench, _ *oddGate) {
			b.do(t, "DEL", b.keys.Ready)
			b.do(t, "ZADD", b.keys.Pool, 1e15, text("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			gate := newOddGate(4)
			b.ready(t, text("a"))
			hinder(t, b, gate)
			f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, newRuns().handler(done))
			wait(t.Context(), 4*stallAfter)
			if f.sum(t, "sidecar_stalls_total") != 0 || f.consumer.Health().StallErr != nil {
				t.Errorf("taken for a stall: %v", f.consumer.Health().StallErr)
			}
		})
	}
}

func TestJobsThatRunForLongOnAllSlotsAreNoStall(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := make(chan struct{})
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), newOddGate(4), quickWatch, func(context.Context, compat.Job) compat.Outcome {
		<-release
		return done
	})
	for uuid := range strings.SplitSeq("abcdef", "") {
		b.ready(t, text(uuid))
	}
	eventually(t, "four to run", func() bool { return b.size(t, b.keys.Running) == 4 })
	wait(t.Context(), 4*stallAfter)
	if f.sum(t, "sidecar_stalls_total") != 0 {
		t.Error("taken for a stall")
	}
	close(release)
	eventually(t, "all to be done", func() bool { return b.empty(t) })
}

// A gate that hangs when it is asked is no excuse.
func TestAGateThatDoesNotEvenSayWhyIsAStall(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, never := newOddGate(4), make(chan struct{})
	t.Cleanup(func() { close(never) })
	gate.breakIt(untilDone, func() error { <-never; return nil })
	f := startWatched(t, b, b.watch(queue.Options{Topic: "mail"}), gate, quickWatch, newRuns().handler(done))
	b.ready(t, text("a"))
	f.wantStall(t)
	gate.breakIt(nil, nil)
	f.wantOver(t)
}

func TestTheWatchdogAsksRedisTwiceAStallAfterAndNothingWhileClaimsCome(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	proxy := newProxy(t, b.server.Addr, func([]string) string { return forward })
	rdb := redis.NewClient(&redis.Options{Addr: proxy.addr, MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	r := newRuns()
	began := time.Now()
	startWatched(t, b, queue.NewStore(rdb, "", queue.Options{Topic: "mail"}), newOddGate(4), quickWatch, r.handler(done))
	eventually(t, "some looks at an idle topic", func() bool { return proxy.count("evalsha") >= 4 })
	if asked, most := proxy.count("evalsha"), int(time.Since(began)/(stallAfter/2))+1; asked > most {
		t.Errorf("asked %d times, want %d at most", asked, most)
	}
	busy, feed := context.WithTimeout(t.Context(), 5*stallAfter)
	defer feed()
	asked := proxy.count("evalsha")
	for n := 0; busy.Err() == nil; n++ {
		b.ready(t, text(strings.Repeat("x", n%50+1)+time.Now().String()))
		wait(busy, 10*time.Millisecond)
	}
	if more := proxy.count("evalsha") - asked; more > 2 { // at the beginning, and on a machine that stood still
		t.Errorf("asked %d times while claims came", more)
	}
}

func TestAStallAfterOfZeroWatchesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate := newOddGate(4)
	gate.breakIt(untilDone, nil)
	fake := newFake(t, func([]string) string { return hangUp })
	rdb := redis.NewClient(&redis.Options{Addr: fake.addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	f := startWatched(t, b, queue.NewStore(rdb, "", queue.Options{Topic: "mail"}), gate, func(o *queue.Options) { o.StallAfter = 0 }, newRuns().handler(done))
	b.ready(t, text("a"))
	wait(t.Context(), 3*stallAfter)
	if f.sum(t, "sidecar_stalls_total") != 0 || len(fake.commands()) != 0 {
		t.Errorf("%d commands, want none", len(fake.commands()))
	}
	f.stop(t)
}
