package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

// jobText is a job with that uuid.
func jobText(uuid string) string { return fmt.Sprintf(`{"uuid":%q}`, uuid) }

// dueIn puts a job into the pool that is due so long from now.
func (b bench) dueIn(t *testing.T, uuid string, after time.Duration) {
	t.Helper()
	if err := b.Push(t.Context(), jobText(uuid), after); err != nil {
		t.Fatal(err)
	}
}

func (b bench) now(t *testing.T) time.Time {
	t.Helper()
	now, err := b.rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// waiting are the uuids of the jobs that q finds.
func waiting(t *testing.T, s *queue.Store, q queue.WaitingQuery) (uuids []string) {
	t.Helper()
	w, err := s.NewWaiting(q)
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for found, err := range w.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Entries {
			uuids = append(uuids, e.UUID)
		}
	}
	if int(n) != len(uuids) {
		t.Errorf("it counts %d and finds %q", n, uuids)
	}
	return uuids
}

func TestWaitingJobsAreFoundByWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	for _, unit := range []queue.ScoreUnit{queue.Milliseconds, queue.Seconds} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		b.dueIn(t, "due", -time.Minute)
		b.dueIn(t, "soon", 10*time.Minute)
		b.dueIn(t, "tomorrow", 24*time.Hour)
		b.dueIn(t, "year", 400*24*time.Hour)
		b.do(t, "ZADD", b.keys.Pool, "+inf", jobText("never"))
		now := b.now(t)
		for _, test := range []struct {
			after, before time.Duration
			want          string
		}{
			{0, 0, "soon tomorrow year never"},
			{time.Hour, 0, "tomorrow year never"},
			{0, time.Hour, "soon"},
			{time.Hour, 25 * time.Hour, "tomorrow"},
			{-time.Hour, time.Hour, "soon"},
			{25 * time.Hour, 26 * time.Hour, ""},
			{0, -time.Second, ""},
		} {
			q := queue.WaitingQuery{Now: now}
			if test.after != 0 {
				q.After = now.Add(test.after)
			}
			if test.before != 0 {
				q.Before = now.Add(test.before)
			}
			if got := strings.Join(waiting(t, b.Store, q), " "); got != test.want {
				t.Errorf("%s, due after %s and before %s: %q, want %q", unit, test.after, test.before, got, test.want)
			}
		}
	}
}

func TestWaitingJobsAreFoundByTheUnitOfTheirScores(t *testing.T) {
	t.Parallel()
	for unit, micro := range map[queue.ScoreUnit]int64{queue.Milliseconds: 1, queue.Seconds: 1000} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		b.dueIn(t, "right", time.Hour)
		b.dueIn(t, "years", 10*365*24*time.Hour)
		in := b.now(t).Add(time.Hour)
		wrong := map[queue.ScoreUnit]queue.ScoreUnit{queue.Milliseconds: queue.Microseconds, queue.Seconds: queue.Milliseconds}[unit]
		b.do(t, "ZADD", b.keys.Pool, in.UnixMicro()/micro, jobText("wrong")) //nolint:forbidigo // Redis's
		if got := waiting(t, b.Store, queue.WaitingQuery{Now: b.now(t), ScoresIn: wrong}); !slices.Equal(got, []string{"wrong"}) {
			t.Errorf("%s: in %s there are %q", unit, wrong, got)
		}
		for _, e := range peekAll(t, b.Store, queue.InPool, 5) {
			if e.UUID != "wrong" {
				continue
			}
			m, err := b.PlanRequeue(t.Context(), e, queue.RequeueOptions{ScoresIn: wrong})
			if err != nil {
				t.Fatal(err)
			}
			made(t, b.Store, m, queue.Taken)
		}
		wantKeys(t, b, Keys{Pool: map[string]string{jobText("right"): "1h", jobText("years"): "87600h", jobText("wrong"): "1h"}})
		if _, err := b.NewWaiting(queue.WaitingQuery{Now: b.now(t), ScoresIn: unit}); err == nil {
			t.Errorf("%s: its own unit is a wrong one", unit)
		}
	}
}

// Whoever gives them another time while they are gone through meets each once, with others in front of them that are promoted meanwhile.
func TestNoWaitingJobIsPassedOverWhileOthersAreMoved(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	const n = 450
	for i := range n {
		b.do(t, "ZADD", b.keys.Pool, "+inf", jobText(fmt.Sprint("u", i)))
		b.do(t, "ZADD", b.keys.Pool, i, fmt.Sprint("old", i))
	}
	w, err := b.NewWaiting(queue.WaitingQuery{Now: b.now(t)})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for found, err := range w.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range found.Entries {
			if seen[e.UUID]++; i%3 == 0 {
				continue // left where it is
			}
			m, err := b.PlanRequeue(t.Context(), e, queue.RequeueOptions{})
			if err != nil {
				t.Fatal(err)
			}
			made(t, b.Store, m, queue.Taken)
		}
		b.do(t, "ZREMRANGEBYSCORE", b.keys.Pool, 0, 200)
		if found.Unsure {
			t.Error("some may have been passed over")
		}
	}
	for uuid, times := range seen {
		if times != 1 {
			t.Errorf("%s is met %d times", uuid, times)
		}
	}
	if len(seen) != n {
		t.Errorf("met %d of %d", len(seen), n)
	}
}

// requeueOne plans and makes a requeue of the job of pool with that uuid.
func requeueOne(t *testing.T, s *queue.Store, uuid string) queue.HandMove {
	t.Helper()
	for _, e := range peekAll(t, s, queue.InPool, 500) {
		if e.UUID == uuid {
			m, err := s.PlanRequeue(t.Context(), e, queue.RequeueOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return made(t, s, m, queue.Taken)
		}
	}
	t.Fatalf("%s is not in pool", uuid)
	return queue.HandMove{}
}

func TestAWaitingJobIsRequeuedAndWaitsAgainOnce(t *testing.T) {
	t.Parallel()
	for _, score := range []string{"+inf", "1e+300", "1732900000123456"} {
		b := newBench(t, nil)
		b.do(t, "ZADD", b.keys.Pool, score, jobText("a"))
		before := b.do(t, "ZSCORE", b.keys.Pool, jobText("a"))
		e := peekAll(t, b.Store, queue.InPool, 5)[0]
		m, err := b.PlanRequeue(t.Context(), e, queue.RequeueOptions{})
		if err != nil {
			t.Fatal(err)
		}
		undone(t, b.Store, m, false, queue.NeverTaken)
		made(t, b.Store, m, queue.Taken)
		made(t, b.Store, m, queue.TakenBefore)
		wantKeys(t, b, Keys{Pool: map[string]string{jobText("a"): "0s"}})
		undone(t, b.Store, m, false, queue.Restored)
		undone(t, b.Store, m, true, queue.RestoredBefore)
		made(t, b.Store, m, queue.TakenBefore)
		if got := b.do(t, "ZSCORE", b.keys.Pool, jobText("a")); got != before {
			t.Errorf("it waits until %v, want %v", got, before)
		}
		b.do(t, "ZADD", b.keys.Pool, 5, jobText("a")) // by somebody else
		m.Ticket = "another"
		made(t, b.Store, m, queue.NotThere)
		undone(t, b.Store, m, true, queue.Started)
		b.do(t, "DEL", b.keys.Pool)
		made(t, b.Store, m, queue.NotThere)
	}
}

func TestARequeuedJobIsTakenOutOfReadyAgain(t *testing.T) {
	t.Parallel()
	for near, want := range map[int64][]string{10_000: {"0", "1", "3", "4"}, 0: {"0", "1", "4", "3"}} {
		b := newBench(t, nil)
		queue.SetNearEnd(b.Store, near)
		b.dueIn(t, "2", 1000*time.Hour)
		m := requeueOne(t, b.Store, "2")
		b.do(t, "DEL", b.keys.Pool)
		for i := range 5 {
			b.do(t, "RPUSH", b.keys.Ready, jobText(fmt.Sprint(i)))
		}
		undone(t, b.Store, m, true, queue.Restored)
		undone(t, b.Store, m, true, queue.RestoredBefore)
		var ready []string
		for _, uuid := range want {
			ready = append(ready, jobText(uuid))
		}
		wantKeys(t, b, Keys{Pool: map[string]string{jobText("2"): "1000h"}, Ready: ready})
		b.do(t, "DEL", b.keys.Pool, b.keys.Moved)
		b.do(t, "ZADD", b.keys.Running, "+inf", jobText("2"))
		undone(t, b.Store, m, true, queue.Started)
	}
}

func TestAListsRetryIsRequeuedAndWaitsAgain(t *testing.T) {
	t.Parallel()
	l := newListBench(t, 0, nil)
	if err := l.Push(t.Context(), listJob("a"), time.Hour); err != nil {
		t.Fatal(err)
	}
	m := requeueOne(t, l.Store, "a")
	undone(t, l.Store, m, false, queue.Restored)
	m = requeueOne(t, l.Store, "a")
	if _, err := l.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	undone(t, l.Store, m, true, queue.Started)
	wantListKeys(t, l, List{Lists: map[int][]string{0: {listJob("a")}}})
}

func TestARequeueGoesOnAtMaxmemory(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, "maxmemory-policy noeviction")
	b.dueIn(t, "a", 1000*time.Hour)
	b.do(t, "CONFIG", "SET", "maxmemory", 1)
	undone(t, b.Store, requeueOne(t, b.Store, "a"), false, queue.Restored)
	m := requeueOne(t, b.Store, "a")
	if _, err := b.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	undone(t, b.Store, m, false, queue.Restored)
	b.do(t, "CONFIG", "SET", "maxmemory", 0)
	wantKeys(t, b, Keys{Pool: map[string]string{jobText("a"): "1000h"}})
}

func TestARefusedRequeueChangesNothing(t *testing.T) {
	t.Parallel()
	for _, near := range []int64{0, 10_000} {
		b := newBench(t, nil)
		b.dueIn(t, "b", 1000*time.Hour)
		m := requeueOne(t, b.Store, "b")
		b.do(t, "DEL", b.keys.Pool)
		b.do(t, "RPUSH", b.keys.Ready, jobText("a"), jobText("b"), jobText("c"))
		b.dueIn(t, "x", 1000*time.Hour)
		keys := Keys{Pool: map[string]string{jobText("x"): "1000h"}, Ready: []string{jobText("a"), jobText("b"), jobText("c")}}
		wantKeys(t, b, keys)
		e := peekAll(t, b.Store, queue.InPool, 5)[0]
		for _, command := range []string{"zadd", "zscore", "zremrangebyrank", "ltrim", "lrem", "lset", "eval"} {
			user := asUser(t, b, "~*", "+@all", "-"+command, "-evalsha", "+evalsha")
			queue.SetNearEnd(user.Store, near)
			if command == "zadd" || command == "zscore" || command == "zremrangebyrank" {
				another, err := user.PlanRequeue(t.Context(), e, queue.RequeueOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := user.Move(t.Context(), another); queue.FaultOf(err) != queue.NoPerm {
					t.Errorf("without %s: %v", command, err)
				}
			}
			needed := command != "eval" && (command != "lset" || near == 0) && (command != "lrem" || near > 0)
			r, err := user.Undo(t.Context(), m, true)
			if needed && queue.FaultOf(err) != queue.NoPerm {
				t.Errorf("without %s: %v", command, err)
			}
			if r == queue.Restored {
				b.do(t, "DEL", b.keys.Ready, b.keys.Moved)
				b.do(t, "ZREM", b.keys.Pool, jobText("b"))
				b.do(t, "RPUSH", b.keys.Ready, jobText("a"), jobText("b"), jobText("c"))
			}
			wantKeys(t, b, keys)
		}
	}
}

func TestOnlyJobsOfPoolAreRequeued(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	if _, err := b.PlanRequeue(t.Context(), queue.Entry{Place: queue.InDead}, queue.RequeueOptions{}); err == nil {
		t.Error("a dead job is requeued")
	}
	if _, err := b.Move(t.Context(), queue.HandMove{Topic: "mail", Verb: queue.VerbRequeue, Ticket: "t", Record: []byte("x")}); err == nil {
		t.Error("a requeue without scores is made")
	}
}
