package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// deadOf is the entry of dead with that uuid.
func deadOf(t *testing.T, s *queue.Store, uuid string) queue.Entry {
	t.Helper()
	for _, e := range peekAll(t, s, queue.InDead, 500) {
		if e.UUID == uuid {
			return e
		}
	}
	t.Fatalf("%s is not in dead", uuid)
	return queue.Entry{}
}

// replayOne plans and makes a replay, by way of the JSON that is written down between the two.
func replayOne(t *testing.T, s *queue.Store, e queue.Entry, o queue.ReplayOptions) queue.HandMove {
	t.Helper()
	m, err := s.PlanReplay(t.Context(), e, o, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return made(t, s, m, queue.Taken)
}

// dropOne is replayOne for a drop.
func dropOne(t *testing.T, s *queue.Store, e queue.Entry) queue.HandMove {
	t.Helper()
	m, err := s.PlanDrop(e)
	if err != nil {
		t.Fatal(err)
	}
	return made(t, s, m, queue.Taken)
}

func made(t *testing.T, s *queue.Store, m queue.HandMove, want queue.MoveResult) queue.HandMove {
	t.Helper()
	written, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var read queue.HandMove
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Move(t.Context(), read); err != nil || got != want {
		t.Fatalf("%s: %s, %v, want %s", m.Verb, got, err, want)
	}
	return read
}

func undone(t *testing.T, s *queue.Store, m queue.HandMove, known bool, want queue.UndoResult) {
	t.Helper()
	if got, err := s.Undo(t.Context(), m, known); err != nil || got != want {
		t.Errorf("undo of %s: %s, %v, want %s", m.Verb, got, err, want)
	}
}

// deadRecords puts n records into dead and returns them, the oldest first.
func (b bench) deadRecords(t testing.TB, n int) (records []string) {
	t.Helper()
	for i := range n {
		records = append(records, deadRecord(fmt.Sprintf(`{"uuid":"d%d","retry":6,"crashes":1}`, i)))
		b.do(t, "RPUSH", b.keys.Dead, records[i])
	}
	return records
}

// without returns list without its i-th.
func without(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }

func TestOneDeadJobIsReplayedAndTheOthersKeepTheirOrder(t *testing.T) {
	for _, at := range []int{0, 1, 5, 8, 9} {
		b := newBench(t, withMarks(queue.IdempotencyOn))
		records := b.deadRecords(t, 10)
		uuid := fmt.Sprintf("d%d", at)
		b.do(t, "SET", b.keys.Idem(uuid), "1")
		m := replayOne(t, b.Store, deadOf(t, b.Store, uuid), queue.ReplayOptions{})
		if job, err := compat.ParseJob(string(m.Text)); err != nil || job.Tries() != 0 || job.Crashes() != 0 || !strings.Contains(job.Raw(), `"replayed_at":"2`) {
			t.Errorf("replayed as %s, %v", m.Text, err)
		}
		after := Keys{Pool: map[string]string{string(m.Text): "0s"}, Dead: without(records, at)}
		wantKeys(t, b, after)
		made(t, b.Store, m, queue.TakenBefore) // whoever does not know whether it was made makes it again
		wantKeys(t, b, after)

		undone(t, b.Store, m, false, queue.Restored)
		back := Keys{Dead: append(without(records, at), records[at])}
		wantKeys(t, b, back)
		undone(t, b.Store, m, false, queue.RestoredBefore)
		undone(t, b.Store, m, true, queue.RestoredBefore)
		made(t, b.Store, m, queue.TakenBefore) // a file that is worked through again does not take it once more
		wantKeys(t, b, back)
	}
}

func TestOneDeadJobIsDroppedAndPutBack(t *testing.T) {
	b := newBench(t, nil)
	records := b.deadRecords(t, 5)
	m, err := b.PlanDrop(deadOf(t, b.Store, "d2"))
	if err != nil {
		t.Fatal(err)
	}
	undone(t, b.Store, m, false, queue.NeverTaken) // killed between the intent and the move: it is still there
	wantKeys(t, b, Keys{Dead: records})
	made(t, b.Store, m, queue.Taken)
	wantKeys(t, b, Keys{Dead: without(records, 2)})
	made(t, b.Store, m, queue.TakenBefore)
	undone(t, b.Store, m, false, queue.Restored) // killed between the move and its outcome line
	undone(t, b.Store, m, false, queue.RestoredBefore)
	wantKeys(t, b, Keys{Dead: append(without(records, 2), records[2])})
	b.do(t, "DEL", b.keys.Moved) // as if it had happened long ago
	m2 := dropOne(t, b.Store, deadOf(t, b.Store, "d0"))
	b.do(t, "DEL", b.keys.Moved)
	undone(t, b.Store, m2, false, queue.NeverTaken)
	undone(t, b.Store, m2, true, queue.Restored) // the file knows
	undone(t, b.Store, m2, true, queue.RestoredBefore)
}

func TestAnEmptyRecordIsDroppedAndPutBackAsAnyOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "RPUSH", b.keys.Dead, "", deadRecord(`{"uuid":"a"}`))
	m := dropOne(t, b.Store, peekAll(t, b.Store, queue.InDead, 500)[1])
	if n := b.do(t, "LLEN", b.keys.Dead); n != int64(1) {
		t.Errorf("dead holds %d records", n)
	}
	undone(t, b.Store, m, true, queue.Restored)
	if got := b.do(t, "LINDEX", b.keys.Dead, 1); got != "" {
		t.Errorf("back is %q", got)
	}
}

func TestCountersStayWhereThatIsAskedFor(t *testing.T) {
	b := newBench(t, nil)
	b.deadRecords(t, 1)
	m := replayOne(t, b.Store, deadOf(t, b.Store, "d0"), queue.ReplayOptions{KeepRetry: true})
	if !strings.HasPrefix(string(m.Text), `{"uuid":"d0","retry":6,"crashes":1,"replayed_at":"`) {
		t.Errorf("replayed as %s", m.Text)
	}
	l := newListBench(t, 0, nil)
	letter := ` {"job_id":"a", "retry_count":3}`
	l.do(t, "LPUSH", l.lists.Dead, letter)
	if m := replayOne(t, l.Store, deadOf(t, l.Store, "a"), queue.ReplayOptions{KeepRetry: true}); string(m.Text) != letter {
		t.Errorf("replayed as %s", m.Text)
	}
	wantListKeys(t, l, List{Lists: map[int][]string{0: {letter}}})
}

func TestARecordWithoutAJobIsReplayedRawOnly(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "RPUSH", b.keys.Dead, deadRecord("caf\xe9"), "no record")
	list := peekAll(t, b.Store, queue.InDead, 5)
	if _, err := b.PlanReplay(t.Context(), list[0], queue.ReplayOptions{Raw: true}, time.UTC); !errors.Is(err, compat.ErrNotRecord) {
		t.Errorf("no record: %v", err)
	}
	if _, err := b.PlanReplay(t.Context(), list[1], queue.ReplayOptions{}, time.UTC); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("no job: %v", err)
	}
	m := replayOne(t, b.Store, list[1], queue.ReplayOptions{Raw: true})
	wantKeys(t, b, Keys{Pool: map[string]string{"caf\xe9": "0s"}, Dead: []string{"no record"}})
	undone(t, b.Store, m, true, queue.Restored)
	dropOne(t, b.Store, list[0])
	wantKeys(t, b, Keys{Dead: []string{deadRecord("caf\xe9")}})
}

// Between looking and taking, the old replay script pops the head and others bury: the record is found again, and where
// it is gone no other one is taken for it.
func TestARecordIsFoundAgainWhereDeadHasMoved(t *testing.T) {
	for name, meanwhile := range map[string]func(b bench){
		"popped":            func(b bench) { b.do(t, "LTRIM", b.keys.Dead, 30, -1) },
		"buried":            func(b bench) { b.deadRecords(t, 40) },
		"popped and buried": func(b bench) { b.do(t, "LTRIM", b.keys.Dead, 45, -1); b.deadRecords(t, 90) },
	} {
		b := newBench(t, nil)
		b.deadRecords(t, 49)
		wanted := deadRecord(`{"uuid":"wanted"}`)
		b.do(t, "RPUSH", b.keys.Dead, wanted)
		b.deadRecords(t, 10)
		e := deadOf(t, b.Store, "wanted")
		meanwhile(b)
		before := b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val()
		dropOne(t, b.Store, e)
		wantKeys(t, b, Keys{Dead: without(before, slices.Index(before, wanted))})
		if m, err := b.PlanDrop(e); err != nil {
			t.Fatal(err)
		} else {
			made(t, b.Store, m, queue.NotThere)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestOfEqualRecordsExactlyOneIsTaken(t *testing.T) {
	b := newBench(t, nil)
	twin, other := deadRecord(`{"uuid":"t"}`), deadRecord(`{"uuid":"o"}`)
	b.do(t, "RPUSH", b.keys.Dead, twin, other, twin, twin)
	dropOne(t, b.Store, peekAll(t, b.Store, queue.InDead, 5)[1])
	if n := b.do(t, "LLEN", b.keys.Dead); n != int64(3) {
		t.Fatalf("%v are left, want 3", n)
	}
	// Two of them replayed in one second are one text, of which the pool can hold one only.
	e := deadOf(t, b.Store, "t")
	one, err := b.PlanReplay(t.Context(), e, queue.ReplayOptions{}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	two := one
	two.Ticket = "another"
	made(t, b.Store, one, queue.Taken)
	made(t, b.Store, two, queue.TwinWaits)
	wantKeys(t, b, Keys{Pool: map[string]string{string(one.Text): "0s"}, Dead: b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val()})
	if n := b.do(t, "LLEN", b.keys.Dead); n != int64(2) {
		t.Errorf("%v are left, want the twin and the other", n)
	}
}

// Far from both ends of dead the hole is filled with the oldest record, so that no command's work grows.
func TestARecordDeepInDeadIsReplacedByTheOldest(t *testing.T) {
	b := newBench(t, nil)
	queue.SetNearEnd(b.Store, 3)
	r := b.deadRecords(t, 12)
	dropOne(t, b.Store, deadOf(t, b.Store, "d3"))
	dropOne(t, b.Store, deadOf(t, b.Store, "d8"))
	m := replayOne(t, b.Store, deadOf(t, b.Store, "d5"), queue.ReplayOptions{})
	want := []string{r[1], r[2], r[4], r[0], r[6], r[7], r[9], r[10], r[11]}
	wantKeys(t, b, Keys{Pool: map[string]string{string(m.Text): "0s"}, Dead: want})

	l := newListBench(t, 0, nil)
	queue.SetNearEnd(l.Store, 3)
	for i := range 12 {
		l.do(t, "LPUSH", l.lists.Dead, listJob(fmt.Sprint(i)))
	}
	dropOne(t, l.Store, deadOf(t, l.Store, "5"))
	var ids []string
	for _, i := range []int{11, 10, 9, 8, 7, 6, 0, 4, 3, 2, 1} {
		ids = append(ids, listJob(fmt.Sprint(i)))
	}
	wantListKeys(t, l, List{Dead: ids})
}

// Several people take what they found, the old replay script pops, and all of it is buried again: each record is taken
// once, by one of them.
func TestEachRecordIsTakenOnceWhoeverElseTakes(t *testing.T) {
	b := newBench(t, nil)
	queue.SetNearEnd(b.Store, 20)
	b.deadRecords(t, 300)
	entries := peekAll(t, b.Store, queue.InDead, 500)
	var mu sync.Mutex
	taken := map[string]int{}
	var people sync.WaitGroup
	for range 3 {
		people.Go(func() {
			s := benchOn(b.server, nil).Store
			queue.SetNearEnd(s, 20)
			for i := range entries {
				m, err := s.PlanDrop(entries[(i*7)%len(entries)])
				if err != nil {
					t.Error(err)
					return
				}
				r, err := s.Move(context.WithoutCancel(t.Context()), m)
				if err != nil || r != queue.Taken && r != queue.NotThere {
					t.Errorf("%s, %v", r, err)
				}
				if r == queue.Taken {
					mu.Lock()
					taken[string(m.Record)]++
					mu.Unlock()
				}
			}
		})
	}
	for range 60 { // the old script
		if text, err := b.rdb.LPop(t.Context(), b.keys.Dead).Result(); err == nil {
			mu.Lock()
			taken[text]++
			mu.Unlock()
		}
	}
	people.Wait()
	for _, text := range b.rdb.LRange(t.Context(), b.keys.Dead, 0, -1).Val() {
		taken[text]++
	}
	for text, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", text, n)
		}
	}
	if len(taken) != 300 {
		t.Errorf("%d of 300 are accounted for", len(taken))
	}
}

func TestAReplayIsUndoneOnlyBeforeItRuns(t *testing.T) {
	b := newBench(t, nil)
	records := b.deadRecords(t, 2)
	m := replayOne(t, b.Store, deadOf(t, b.Store, "d1"), queue.ReplayOptions{})
	b.ready(t, "r1", "r2")
	if _, err := b.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.ready(t, "r3")
	wantKeys(t, b, Keys{Ready: []string{"r1", "r2", string(m.Text), "r3"}, Dead: records[:1]})
	undone(t, b.Store, m, false, queue.Restored) // it waits in ready
	wantKeys(t, b, Keys{Ready: []string{"r1", "r2", "r3"}, Dead: records})
	m = replayOne(t, b.Store, deadOf(t, b.Store, "d1"), queue.ReplayOptions{})
	if _, err := b.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	claims, err := b.Claim(t.Context(), 4)
	if err != nil || len(claims.List) != 4 {
		t.Fatalf("%d claims, %v", len(claims.List), err)
	}
	before := Keys{Running: map[string]string{"r1": "*", "r2": "*", "r3": "*", string(m.Text): "*"}, Dead: records[:1]}
	undone(t, b.Store, m, false, queue.Started)
	undone(t, b.Store, m, true, queue.Started)
	wantKeys(t, b, before)
}

func TestALetterIsReplayedIntoItsShardDroppedAndPutBackWithItsReason(t *testing.T) {
	b := newListBench(t, 4, nil)
	sms, mail := sharing(b, []string{"sms"}, nil)
	for i := range 5 {
		b.buried(t, sms, "sms", typedJob(fmt.Sprint("s", i), "sms", 4), "no credit")
		b.buried(t, mail, "mail", typedJob(fmt.Sprint("m", i), "x", 4), "gone")
	}
	letters := b.texts(t, b.lists.Dead)
	m := replayOne(t, sms, deadOf(t, sms, "s2"), queue.ReplayOptions{})
	shard := fmt.Sprintf("queue:test:sms_%d", compat.Shard("s2", 4))
	if got := b.texts(t, shard); !slices.Equal(got, []string{typedJob("s2", "sms", 0)}) {
		t.Errorf("its shard holds %q", got)
	}
	at := slices.Index(letters, typedJob("s2", "sms", 4))
	if got := b.texts(t, b.lists.Dead); !slices.Equal(got, without(letters, at)) {
		t.Errorf("dead holds %q", got)
	}
	b.do(t, "DEL", b.lists.Reasons) // so long ago that its reason is not kept any more
	undone(t, sms, m, false, queue.Restored)
	if got := b.texts(t, b.lists.Dead); got[0] != typedJob("s2", "sms", 4) || len(got) != 10 {
		t.Errorf("dead holds %q", got)
	}
	if e := deadOf(t, sms, "s2"); e.Error != "no credit" || !e.Reason || len(b.texts(t, shard)) != 0 {
		t.Errorf("it is %+v", e)
	}
	drop := dropOne(t, sms, deadOf(t, sms, "s2"))
	undone(t, sms, drop, true, queue.Restored)
	undone(t, sms, drop, true, queue.RestoredBefore)
	if n := b.ask(t, "LLEN", b.lists.Dead); n != 10 {
		t.Errorf("%d letters", n)
	}
}

// The old worker passes over a job that has an ack, and leaves one behind where a job fails.
func TestALetterThatIsReplayedLosesTheOldWorkersAck(t *testing.T) {
	b := newListBench(t, 0, acked)
	b.do(t, "LPUSH", b.lists.Dead, listJobAt("a", 4))
	b.do(t, "SET", b.lists.Ack("a"), "processing")
	replayOne(t, b.Store, deadOf(t, b.Store, "a"), queue.ReplayOptions{})
	wantListKeys(t, b, List{Lists: map[int][]string{0: {listJob("a")}}})
}

func TestAReplayedTextOfAListIsTakenOutOfItAgain(t *testing.T) {
	for _, near := range []int64{1, 10_000} {
		b := newListBench(t, 0, nil)
		queue.SetNearEnd(b.Store, near)
		b.push(t, 0, listJob("1"), listJob("2"), listJob("3"))
		b.do(t, "LPUSH", b.lists.Dead, listJobAt("a", 4))
		m := replayOne(t, b.Store, deadOf(t, b.Store, "a"), queue.ReplayOptions{})
		b.push(t, 0, listJob("4"), listJob("5"))
		undone(t, b.Store, m, false, queue.Restored)
		want := []string{listJob("1"), listJob("2"), listJob("3"), listJob("4"), listJob("5")}
		if near == 1 { // deep: the newest has come in its place
			want = []string{listJob("1"), listJob("2"), listJob("3"), listJob("5"), listJob("4")}
		}
		wantListKeys(t, b, List{Lists: map[int][]string{0: want}, Dead: []string{listJobAt("a", 4)}})
		if _, err := b.Claim(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		undone(t, b.Store, m, false, queue.RestoredBefore)
	}
}

func TestWrappedTextsAreReplayedInTheirForm(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Encoding = queue.EncodingAuto })
	b.do(t, "RPUSH", b.keys.Dead, serialized(deadRecord(`{"uuid":"a","retry":6}`)), serialized(deadRecord(`{"uuid":"b"}`)))
	m := replayOne(t, b.Store, deadOf(t, b.Store, "a"), queue.ReplayOptions{})
	if !strings.HasPrefix(string(m.Text), "s:") || !strings.Contains(string(m.Text), `"retry":0`) {
		t.Errorf("replayed as %s", m.Text)
	}
	undone(t, b.Store, m, true, queue.Restored)
	wantKeys(t, b, Keys{Dead: []string{serialized(deadRecord(`{"uuid":"b"}`)), serialized(deadRecord(`{"uuid":"a","retry":6}`))}})
}

func TestAMoveOfAnotherTopicIsRefused(t *testing.T) {
	b := newBench(t, nil)
	b.deadRecords(t, 1)
	m, err := b.PlanDrop(deadOf(t, b.Store, "d0"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*queue.HandMove){
		"topic": func(m *queue.HandMove) { m.Topic = "other" }, "verb": func(m *queue.HandMove) { m.Verb = "eat" },
		"ticket": func(m *queue.HandMove) { m.Ticket = "" }, "record": func(m *queue.HandMove) { m.Record = nil },
	} {
		bad := m
		change(&bad)
		if _, err := b.Move(t.Context(), bad); err == nil {
			t.Errorf("a move with another %s is made", name)
		}
		if _, err := b.Undo(t.Context(), bad, true); err == nil {
			t.Errorf("a move with another %s is undone", name)
		}
	}
	if _, err := b.PlanDrop(queue.Entry{Place: queue.InPool}); err == nil {
		t.Error("a job of the pool is dropped")
	}
}

func TestMovesOfDeadJobsGoOnAtMaxmemory(t *testing.T) {
	for _, near := range []int64{0, 10_000} {
		b := newBench(t, nil, "maxmemory-policy noeviction")
		queue.SetNearEnd(b.Store, near)
		b.deadRecords(t, 5)
		b.do(t, "ZADD", b.keys.Pool, "+inf", "later")
		e := deadOf(t, b.Store, "d2")
		b.do(t, "CONFIG", "SET", "maxmemory", 1)
		m := replayOne(t, b.Store, e, queue.ReplayOptions{})
		undone(t, b.Store, m, false, queue.Restored)
		undone(t, b.Store, dropOne(t, b.Store, deadOf(t, b.Store, "d1")), false, queue.Restored)
		if changed, err := b.RunNow(t.Context(), queue.Entry{Place: queue.InPool, Stored: "later"}); err != nil || !changed {
			t.Errorf("run now: %t, %v", changed, err)
		}
		b.do(t, "CONFIG", "SET", "maxmemory", 0)
		if n := b.do(t, "LLEN", b.keys.Dead); n != int64(5) {
			t.Errorf("%v are dead", n)
		}
	}
}

// A user who may do less, and keys of other types: nothing is lost or doubled, and the error says what is wrong.
func TestRefusedMovesOfDeadJobsChangeNothing(t *testing.T) {
	for _, near := range []int64{0, 10_000} {
		b := newBench(t, nil)
		records := b.deadRecords(t, 5)
		e := deadOf(t, b.Store, "d2")
		for _, command := range []string{"lset", "lrem", "zadd", "ltrim", "zremrangebyrank", "lindex", "zscore", "llen", "eval"} {
			user := asUser(t, b, "~*", "+@all", "-"+command, "-evalsha", "+evalsha")
			queue.SetNearEnd(user.Store, near)
			m, err := user.PlanReplay(t.Context(), e, queue.ReplayOptions{}, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			_, err = user.Move(t.Context(), m)
			if needed := command != "eval" && (command != "lset" || near == 0) && (command != "lrem" || near > 0); needed && queue.FaultOf(err) != queue.NoPerm {
				t.Errorf("without %s: %v", command, err)
			}
			if err == nil {
				undone(t, b.Store, m, true, queue.Restored)
				b.do(t, "DEL", b.keys.Dead)
				records = b.deadRecords(t, 5)
			}
			wantKeys(t, b, Keys{Dead: records})
		}
		b.do(t, "SET", b.keys.Moved, "x")
		m, _ := b.PlanDrop(e)
		if _, err := b.Move(t.Context(), m); queue.FaultOf(err) != queue.WrongType || !strings.Contains(err.Error(), "sidecar:moved:mail is a string, want a zset") {
			t.Errorf("a ledger of another type: %v", err)
		}
		wantKeys(t, b, Keys{Dead: records})
	}
}

func TestRedisRemembersABoundedNumberOfMoves(t *testing.T) {
	b := newBench(t, nil)
	b.deadRecords(t, 3)
	b.do(t, "EVAL", "for i = 1, 50000 do redis.call('ZADD', KEYS[1], i, 'told' .. i) end", 1, b.keys.Moved)
	m := dropOne(t, b.Store, deadOf(t, b.Store, "d0"))
	dropOne(t, b.Store, deadOf(t, b.Store, "d1"))
	undone(t, b.Store, m, false, queue.Restored)
	if n := b.do(t, "ZCARD", b.keys.Moved); n != int64(50_000) && n != int64(49_999) {
		t.Errorf("%v tickets are kept", n)
	}
}

// Whoever replays many is killed now and then, between the intent that is written down and the move, or between the move and its
// outcome line; the file is worked through again, by several at once, while the old script replays, too. None is lost, none doubled.
func TestAReplayThatIsKilledIsTakenUpAgain(t *testing.T) {
	b := newBench(t, nil)
	queue.SetNearEnd(b.Store, 40)
	const n = 400
	b.deadRecords(t, n)
	var intents []queue.HandMove
	for i, e := range peekAll(t, b.Store, queue.InDead, 500) {
		m, err := b.PlanReplay(t.Context(), e, queue.ReplayOptions{}, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		intents = append(intents, m)
		if i%3 == 0 {
			continue // killed before the move
		}
		made(t, b.Store, m, queue.Taken) // and, as it were, before the outcome line
		if i == n/2 {
			break // killed for good
		}
	}
	byOld := 0
	var people sync.WaitGroup
	for range 2 {
		people.Go(func() {
			s := benchOn(b.server, nil).Store
			queue.SetNearEnd(s, 40)
			for _, m := range intents {
				if r, err := s.Move(context.WithoutCancel(t.Context()), m); err != nil || r == queue.TwinWaits {
					t.Errorf("%s, %v", r, err)
				}
			}
		})
	}
	for range 50 {
		done, err := b.Replay(t.Context(), 1, false, time.UTC)
		if err != nil {
			t.Error(err)
		}
		byOld += len(done.Replayed)
	}
	people.Wait()
	seen := map[string]int{}
	for place := range map[queue.Place]bool{queue.InPool: true, queue.InDead: true} {
		for _, e := range peekAll(t, b.Store, place, 500) {
			seen[e.UUID]++
		}
	}
	for uuid, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", uuid, times)
		}
	}
	if waiting := b.do(t, "ZCARD", b.keys.Pool); len(seen) != n || waiting != int64(len(intents)+byOld) {
		t.Errorf("%d of %d jobs are there, %v wait, want %d", len(seen), n, waiting, len(intents)+byOld)
	}
}
