package queue_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

func deadRecord(job string) string {
	return compat.DeadRecord{Job: job, Error: "boom", Trace: "#0", At: "2026-01-02 03:04:05"}.Text()
}

func TestReplaySwapsTheHeadOfDead(t *testing.T) {
	b := newBench(t, nil)
	one := deadRecord(`{"uuid":"u1","payload":{"n":1.0},"retry":6,"crashes":2}`)
	two := deadRecord(`{"uuid":"u2","retry":6}`)
	b.do(t, "RPUSH", b.keys.Dead, one, two)
	zone := time.FixedZone("X", 8*3600)
	done, err := b.Replay(t.Context(), 1, false, zone)
	if err != nil || len(done.Replayed) != 1 || len(done.Unreadable) != 0 {
		t.Fatalf("got %+v, %v, want one replayed", done, err)
	}
	text := done.Replayed[0]
	if !strings.HasPrefix(text, `{"uuid":"u1","payload":{"n":1.0},"retry":0,"crashes":0,"replayed_at":"`) {
		t.Errorf("replayed as %s", text)
	}
	job, err := compat.ParseJob(text)
	if err != nil || job.Tries() != 0 {
		t.Errorf("tries %d, %v", job.Tries(), err)
	}
	at := text[len(text)-len(`2006-01-02 15:04:05"}`) : len(text)-2]
	if then, err := time.ParseInLocation(time.DateTime, at, zone); err != nil || time.Since(then).Abs() > tolerance+time.Second {
		t.Errorf("replayed_at %s, %v, want now in zone %s", at, err, zone)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{text: "0s"}, Dead: []string{two}})
}

// C: replay stops on an empty dead list; the old script never did (CONTRACT 1.5).
func TestReplayEndsWhenDeadIsEmpty(t *testing.T) {
	b := newBench(t, nil)
	if done, err := b.Replay(t.Context(), 10, false, time.UTC); err != nil || len(done.Replayed) != 0 {
		t.Errorf("got %+v, %v, want nothing", done, err)
	}
	b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"u1"}`))
	if done, err := b.Replay(t.Context(), 10, false, time.UTC); err != nil || len(done.Replayed) != 1 {
		t.Errorf("got %+v, %v, want one", done, err)
	}
}

func TestReplayMovesAnUnreadableRecordToTheTail(t *testing.T) {
	b := newBench(t, nil)
	good := deadRecord(`{"uuid":"u1"}`)
	b.do(t, "RPUSH", b.keys.Dead, "rubbish", `{"job":"text"}`, good, "\xff")
	done, err := b.Replay(t.Context(), 10, false, time.UTC)
	if err != nil || len(done.Replayed) != 1 || len(done.Unreadable) != 3 {
		t.Fatalf("got %+v, %v, want one replayed, three unreadable", done, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{done.Replayed[0]: "0s"}, Dead: []string{"rubbish", `{"job":"text"}`, "\xff"}})
}

// CONTRACT 1.3: a text that was no job comes back byte for byte.
func TestReplayRestoresTheBytesOfATextThatIsNoJob(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "RPUSH", b.keys.Dead, deadRecord("caf\xe9"))
	if _, err := b.ReplayRaw(t.Context(), 1, false, time.UTC); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"caf\xe9": "0s"}})
}

// A text that is no job would only come back to dead: it stays there, behind the others, and is told of.
func TestReplayLeavesTextsThatAreNoJobsInDead(t *testing.T) {
	b := newBench(t, nil)
	raw, good := deadRecord("caf\xe9"), deadRecord(`{"uuid":"u1"}`)
	b.do(t, "RPUSH", b.keys.Dead, raw, good)
	would, err := b.Replay(t.Context(), 10, true, time.UTC)
	if err != nil || len(would.Replayed) != 1 || len(would.NoJobs) != 1 {
		t.Errorf("a dry run says %+v, %v, want one to replay and one to leave", would, err)
	}
	wantKeys(t, b, Keys{Dead: []string{raw, good}})
	done, err := b.Replay(t.Context(), 10, false, time.UTC)
	if err != nil || len(done.Replayed) != 1 || len(done.NoJobs) != 1 || done.NoJobs[0] != raw || len(done.Unreadable) != 0 {
		t.Fatalf("got %+v, %v, want one replayed and one left", done, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{done.Replayed[0]: "0s"}, Dead: []string{raw}})
	if would, err := b.ReplayRaw(t.Context(), 10, true, time.UTC); err != nil || len(would.Replayed) != 1 {
		t.Errorf("a raw dry run says %+v, %v, want the text", would, err)
	}
}

func TestReplayDeletesAMarkThatDoesNotSayDone(t *testing.T) {
	for mark, want := range map[string]map[string]string{"1": nil, "done": {"u1": "done"}} {
		b := newBench(t, withMarks(queue.IdempotencyOn))
		b.do(t, "SET", b.keys.Idem("u1"), mark)
		b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"u1"}`))
		done, err := b.Replay(t.Context(), 1, false, time.UTC)
		if err != nil || len(done.Replayed) != 1 {
			t.Fatalf("got %+v, %v", done, err)
		}
		wantKeys(t, b, Keys{Pool: map[string]string{done.Replayed[0]: "0s"}, Marks: want})
	}
}

func TestReplayDryChangesNothing(t *testing.T) {
	b := newBench(t, nil)
	records := []string{deadRecord(`{"uuid":"u1"}`), "rubbish", deadRecord(`{"uuid":"u2"}`)}
	for _, r := range records {
		b.do(t, "RPUSH", b.keys.Dead, r)
	}
	would, err := b.Replay(t.Context(), 2, true, time.UTC)
	if err != nil || len(would.Replayed) != 1 || len(would.Unreadable) != 1 {
		t.Errorf("got %+v, %v, want one and one", would, err)
	}
	if none, err := b.Replay(t.Context(), 0, true, time.UTC); err != nil || len(none.Replayed) != 0 {
		t.Errorf("limit 0: got %+v, %v", none, err)
	}
	wantKeys(t, b, Keys{Dead: records})
}

func TestReplayWritesScoresInSeconds(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.ScoreUnit = queue.Seconds })
	b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"u1"}`))
	done, err := b.Replay(t.Context(), 1, false, time.UTC)
	if err != nil || len(done.Replayed) != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{done.Replayed[0]: "0s"}})
}

func TestPushAddsATextAsAProducerDoes(t *testing.T) {
	for _, unit := range []queue.ScoreUnit{queue.Milliseconds, queue.Seconds} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		for text, delay := range map[string]time.Duration{"now": 0, "later": 90 * time.Second, "past": -time.Hour} {
			if err := b.Push(t.Context(), text, delay); err != nil {
				t.Fatal(err)
			}
		}
		wantKeys(t, b, Keys{Pool: map[string]string{"now": "0s", "later": "90s", "past": "0s"}})
	}
}

func TestDepthsCountWhatLiesWhere(t *testing.T) {
	for _, unit := range []queue.ScoreUnit{queue.Milliseconds, queue.Seconds} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		now := b.nowMS(t) / b.unit()
		b.do(t, "ZADD", b.keys.Pool, now-60_000/b.unit(), "due", now-1000/b.unit(), "due too", now+60_000/b.unit(), "to come")
		b.ready(t, "a", "b", "c")
		b.do(t, "ZADD", b.keys.Running, 1, "d")
		b.do(t, "RPUSH", b.keys.Dead, "e", "f")
		d, err := b.Depths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d.Pool != 3 || d.Due != 2 || d.Ready != 3 || d.Running != 1 || d.Dead != 2 {
			t.Errorf("%s: depths %+v", unit, d)
		}
		if (d.OldestDueAge - time.Minute).Abs() > tolerance {
			t.Errorf("%s: the oldest has been due for %s, want 1m", unit, d.OldestDueAge)
		}
		if d.OldestScore == "" || d.LatestScore == "" || d.Now.IsZero() {
			t.Errorf("%s: scores %q and %q, now %d", unit, d.OldestScore, d.LatestScore, d.Now)
		}
	}
}

func TestDepthsOfAnEmptyTopicAreZero(t *testing.T) {
	b := newBench(t, nil)
	d, err := b.Depths(t.Context())
	d.Now = 0
	if err != nil || !reflect.DeepEqual(d, queue.Depths{}) {
		t.Errorf("got %+v, %v, want zeros", d, err)
	}
	b.do(t, "ZADD", b.keys.Pool, 0, "at once")
	if d, err := b.Depths(t.Context()); err != nil || d.Due != 1 || d.OldestDueAge != 0 {
		t.Errorf("score 0 is no age: got %+v, %v", d, err)
	}
}
