package queue_test

import (
	"testing"
	"time"

	"sidecar/queue"
)

func withMarks(mode queue.Idempotency) func(*queue.Options) {
	return func(o *queue.Options) { o.Idempotency = mode }
}

// The mark is set in every case: the job is done, whoever holds the text by now.
func TestCompleteMarksTheJobAsDone(t *testing.T) {
	for _, state := range []string{"held", "lost", "gone"} {
		b := newBench(t, withMarks(queue.IdempotencyOn))
		held := b.claimed(t, "j")[0].Lease
		want := Keys{Marks: map[string]string{"u1": "done"}}
		switch state {
		case "lost":
			b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+5000, "j")
			want.Running = map[string]string{"j": "5s"}
		case "gone":
			b.do(t, "ZREM", b.keys.Running, "j")
		}
		settleOne(t, b, "complete", "j", held, "", false)
		wantKeys(t, b, want)
		if ttl := b.rdb.TTL(t.Context(), b.keys.Idem("u1")).Val(); (ttl - 24*time.Hour).Abs() > tolerance {
			t.Errorf("%s: the mark lives for %s, want 24h", state, ttl)
		}
	}
}

func TestNoMarkWithoutUUIDOrMode(t *testing.T) {
	b := newBench(t, withMarks(queue.IdempotencyOff))
	held := b.claimed(t, "j")[0].Lease
	settleOne(t, b, "complete", "j", held, "", false)
	wantKeys(t, b, Keys{})

	on := benchOn(b.server, withMarks(queue.IdempotencyOn))
	held = on.claimed(t, "j")[0].Lease
	if _, err := on.Complete(t.Context(), []queue.Completion{{Text: "j", Held: held}}); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, on, Keys{})
}

func TestEachJobOfAGroupGetsItsOwnMark(t *testing.T) {
	b := newBench(t, withMarks(queue.IdempotencyLegacy))
	held := b.claimed(t, "a", "b", "c")
	_, err := b.Complete(t.Context(), []queue.Completion{
		{Text: "a", Held: held[0].Lease, UUID: "ua"},
		{Text: "b", Held: held[1].Lease},
		{Text: "c", Held: held[2].Lease, UUID: "uc"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantKeys(t, b, Keys{Marks: map[string]string{"ua": "done", "uc": "done"}})
}

// The old worker takes any mark for done, so one that does not say done would swallow our retry.
func TestFailuresDeleteAMarkThatDoesNotSayDone(t *testing.T) {
	for _, verb := range []string{"requeue", "bury"} {
		for mark, kept := range map[string]bool{"1": false, "processing": false, "done": true} {
			b := newBench(t, withMarks(queue.IdempotencyOn))
			held := b.claimed(t, "j")[0].Lease
			b.do(t, "SET", b.keys.Idem("u1"), mark)
			settleOne(t, b, verb, "j", held, "", false)
			if n := b.do(t, "EXISTS", b.keys.Idem("u1")); (n == int64(1)) != kept {
				t.Errorf("%s: mark %q is there: %v, want %v", verb, mark, n, kept)
			}
		}
	}
}

func TestFailuresUnderALostLeaseLeaveTheMark(t *testing.T) {
	for _, verb := range []string{"requeue", "bury"} {
		b := newBench(t, withMarks(queue.IdempotencyOn))
		held := b.claimed(t, "j")[0].Lease
		b.do(t, "ZADD", b.keys.Running, b.nowMS(t)+5000, "j")
		b.do(t, "SET", b.keys.Idem("u1"), "1")
		settleOne(t, b, verb, "j", held, "", false)
		wantKeys(t, b, Keys{Running: map[string]string{"j": "5s"}, Marks: map[string]string{"u1": "1"}})
	}
}

// A mark of another type is none that says done.
func TestFailuresDeleteAMarkOfAnotherType(t *testing.T) {
	b := newBench(t, withMarks(queue.IdempotencyOn))
	held := b.claimed(t, "j")[0].Lease
	b.do(t, "LPUSH", b.keys.Idem("u1"), "done")
	settleOne(t, b, "requeue", "j", held, "", false)
	wantKeys(t, b, Keys{Pool: map[string]string{"j'": "5s"}})
}

func TestDoneBeforeBelievesWhatTheModeSays(t *testing.T) {
	uuids := []string{"ours", "", "theirs", "nobody's", "odd", "list"}
	want := map[queue.Idempotency][]bool{
		queue.IdempotencyOff:    {false, false, false, false, false, false},
		queue.IdempotencyOn:     {true, false, false, false, false, false},
		queue.IdempotencyLegacy: {true, false, true, false, false, false},
	}
	for mode, done := range want {
		b := newBench(t, withMarks(mode))
		b.do(t, "SET", b.keys.Idem("ours"), "done")
		b.do(t, "SET", b.keys.Idem("theirs"), "1")
		b.do(t, "SET", b.keys.Idem("odd"), "processing")
		b.do(t, "LPUSH", b.keys.Idem("list"), "done")
		got, err := b.DoneBefore(t.Context(), uuids)
		if err != nil || len(got) != len(uuids) {
			t.Fatalf("%s: %v, %v", mode, got, err)
		}
		for i := range got {
			if got[i] != done[i] {
				t.Errorf("%s: %q done = %v, want %v", mode, uuids[i], got[i], done[i])
			}
		}
	}
}

func TestDoneBeforeOfNoUUIDsAsksNobody(t *testing.T) {
	b := newBench(t, withMarks(queue.IdempotencyOn))
	b.server.Kill()
	if got, err := b.DoneBefore(t.Context(), []string{"", ""}); err != nil || len(got) != 2 || got[0] || got[1] {
		t.Errorf("got %v, %v, want two false", got, err)
	}
}
