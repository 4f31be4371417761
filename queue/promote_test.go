package queue_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

func TestPromoteMovesDueTextsOldestFirst(t *testing.T) {
	b := newBench(t, nil)
	now := b.nowMS(t)
	b.do(t, "ZADD", b.keys.Pool, now-10, "late", now-20, "later", now+60_000, "to come")
	p, err := b.Promote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.Promoted != 2 || p.Backpressure {
		t.Errorf("promoted %d, backpressure %v, want 2 and false", p.Promoted, p.Backpressure)
	}
	if away := p.Next.Sub(p.Now); (away - time.Minute).Abs() > tolerance {
		t.Errorf("next is due in %s, want 1m", away)
	}
	if len(p.Due) != 2 || p.Due[0].Text != "later" || p.Due[1].Text != "late" {
		t.Fatalf("due: %v, want later and late", p.Due)
	}
	if want := queue.ServerTime((now - 20) * 1000); (p.Due[0].At - want).Sub(0).Abs() > time.Millisecond {
		t.Errorf("later was due at %d, want %d", p.Due[0].At, want)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"to come": "1m"}, Ready: []string{"later", "late"}})
}

func TestPromoteOfAFullBatchCarriesTheOldestDueTimeOnly(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Batch = 3 })
	for i := range 5 {
		b.do(t, "ZADD", b.keys.Pool, 1000+i, "t"+strconv.Itoa(i))
	}
	p, err := b.Promote(t.Context())
	if err != nil || p.Promoted != 3 || len(p.Due) != 1 || p.Due[0].Text != "t0" || p.OldestScore != "1000" {
		t.Fatalf("got %+v, %v, want 3 promoted and t0", p, err)
	}
	if p.Next != 1003*1000 {
		t.Errorf("next = %d, want t3's 1003 ms", p.Next)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"t3": "*", "t4": "*"}, Ready: []string{"t0", "t1", "t2"}})
}

// Small ones say nothing of those behind them.
func TestPromoteOfLargeTextsBehindSmallOnesTakesFewerAtATime(t *testing.T) {
	b := newBench(t, nil)
	for i := range 80 {
		text := fmt.Sprintf("%02d", i)
		if i >= 8 {
			text += strings.Repeat("x", 100<<10)
		}
		b.do(t, "ZADD", b.keys.Pool, 1000+i, text)
	}
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted < 8 || p.Promoted > 30 {
		t.Errorf("promoted %d of them in one call, %v; want the small ones and about 1 MB of the others", p.Promoted, err)
	}
}

func TestPromoteOfLargeTextsTakesFewerAtATime(t *testing.T) {
	const texts, size = 60, 100 << 10
	b := newBench(t, nil)
	for i := range texts {
		b.do(t, "ZADD", b.keys.Pool, 1000+i, fmt.Sprintf("%02d%s", i, strings.Repeat("x", size)))
	}
	total := 0
	for calls := 1; total < texts; calls++ {
		p, err := b.Promote(t.Context())
		if err != nil || p.Promoted < 1 || p.Promoted > 12 {
			t.Fatalf("promoted %d of %d KB in one call, %v; want about 1 MB", p.Promoted, size>>10, err)
		}
		if len(p.Due) != 1 {
			t.Errorf("call %d sends %d texts back, want the oldest only", calls, len(p.Due))
		}
		total += p.Promoted
		if total < texts && p.Next != queue.ServerTime((1000+total)*1000) {
			t.Errorf("next = %d after %d texts, want the next one's score: the scanner would rest", p.Next, total)
		}
	}
	for i := range texts {
		head := b.do(t, "LINDEX", b.keys.Ready, i).(string)[:2]
		if head != fmt.Sprintf("%02d", i) {
			t.Fatalf("ready holds %s at %d: out of order", head, i)
		}
	}
}

func TestPromoteStopsWhileReadyIsFull(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.ReadyMax = 2 })
	b.do(t, "ZADD", b.keys.Pool, 1, "c")
	b.ready(t, "a", "b")
	p, err := b.Promote(t.Context())
	if err != nil || !p.Backpressure || p.Promoted != 0 || p.Now.IsZero() {
		t.Errorf("got %+v, %v, want backpressure", p, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"c": "*"}, Ready: []string{"a", "b"}})
	b.do(t, "LPOP", b.keys.Ready)
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 1 {
		t.Errorf("with room: got %+v, %v, want 1 promoted", p, err)
	}
	wantKeys(t, b, Keys{Ready: []string{"b", "c"}})
}

func TestPromoteOfAnEmptyPoolSaysSo(t *testing.T) {
	b := newBench(t, nil)
	p, err := b.Promote(t.Context())
	if err != nil || p.Promoted != 0 || p.Next != 0 || p.Due != nil || p.OldestScore != "" || p.Now.IsZero() {
		t.Errorf("got %+v, %v, want nothing but the time", p, err)
	}
	wantKeys(t, b, Keys{})
}

// C42: microtime(true) * 1000 gives scores with a fraction.
func TestPromoteTakesScoresWithAFraction(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "ZADD", b.keys.Pool, "1732900000123.4567", "past")
	b.do(t, "ZADD", b.keys.Pool, strconv.FormatFloat(b.nowMS(t)+40, 'f', 4, 64), "soon")
	p, err := b.Promote(t.Context())
	if err != nil || p.Promoted != 1 || p.Due[0].At != 1732900000123456 {
		t.Fatalf("got %+v, %v, want past, due at 1732900000123456 us", p, err)
	}
	left := p.Next.Sub(p.Now)
	if left <= 0 || left > 40*time.Millisecond {
		t.Errorf("next in %s, want at most 40ms", left)
	}
	<-time.After(left)
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 1 {
		t.Errorf("%s later: %+v, %v, want soon promoted", left, p, err)
	}
	wantKeys(t, b, Keys{Ready: []string{"past", "soon"}})
}

// C44: bad arithmetic of a producer.
func TestPromoteOfAbsurdScores(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "ZADD", b.keys.Pool, "-inf", "least", -5, "minus", 0, "zero", 7, "due", "+inf", "never")
	p, err := b.Promote(t.Context())
	if err != nil || p.Promoted != 4 {
		t.Fatalf("got %+v, %v, want 4 promoted", p, err)
	}
	if p.Next != 0 {
		t.Errorf("next = %d, want 0: never", p.Next)
	}
	for _, due := range p.Due {
		if due.At < 1 {
			t.Errorf("%s was due at %d, want a time", due.Text, due.At)
		}
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"never": "*"}, Ready: []string{"least", "minus", "zero", "due"}})

	b.do(t, "ZADD", b.keys.Pool, "1e300", "far")
	if p, err := b.Promote(t.Context()); err != nil || p.Next != 0 {
		t.Errorf("a score beyond all times: next = %d, %v, want 0", p.Next, err)
	}
	b.do(t, "ZADD", b.keys.Pool, "1e15", "year 33658")
	if p, err := b.Promote(t.Context()); err != nil || p.Next != 1e18 {
		t.Errorf("next = %d, %v, want 1e18", p.Next, err)
	}
}

// C40, the side with the unit set.
func TestPromoteReadsScoresInSeconds(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.ScoreUnit = queue.Seconds })
	now := math.Floor(b.nowMS(t) / 1000)
	b.do(t, "ZADD", b.keys.Pool, int64(now-1), "due", int64(now+3600), "in an hour")
	p, err := b.Promote(t.Context())
	if err != nil || p.Promoted != 1 {
		t.Fatalf("got %+v, %v, want due promoted", p, err)
	}
	if away := p.Next.Sub(p.Now); (away - time.Hour).Abs() > tolerance {
		t.Errorf("next in %s, want 1h", away)
	}
	if want := queue.ServerTime((now - 1) * 1e6); p.Due[0].At != want {
		t.Errorf("due at %d, want %d", p.Due[0].At, want)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"in an hour": "1h"}, Ready: []string{"due"}})
}

func TestSuspectUnitNamesTheUnitAScoreIsIn(t *testing.T) {
	const now = queue.ServerTime(1_760_000_000_000_000)
	tests := map[string]struct {
		score string
		unit  queue.ScoreUnit
		want  string
	}{
		"ms as it should be":  {"1760003600123.4567", queue.Milliseconds, ""},
		"s as it should be":   {"1760003600", queue.Seconds, ""},
		"s where ms are due":  {"1760003600", queue.Milliseconds, "s"},
		"ms where s are due":  {"1760003600123", queue.Seconds, "ms"},
		"us where ms are due": {"1.760003600123e15", queue.Milliseconds, "us"},
		"at once":             {"0", queue.Milliseconds, ""},
		"never":               {"inf", queue.Milliseconds, ""},
		"none":                {"", queue.Milliseconds, ""},
		"years in the past":   {"1500000000000", queue.Milliseconds, ""},
	}
	for name, test := range tests {
		if got := queue.SuspectUnit(test.score, test.unit, now); got != test.want {
			t.Errorf("%s: %s looks like %q, want %q", name, test.score, got, test.want)
		}
	}
}

// C92: a night with the sidecar off.
func TestPromoteOfABigBacklogInBatches(t *testing.T) {
	for _, batch := range []int{200, 500} {
		b := newBench(t, func(o *queue.Options) { o.Batch = batch })
		for i := 0; i < 20_000; i += 1000 {
			args := []any{"ZADD", b.keys.Pool}
			for j := range 1000 {
				args = append(args, 1000+i+j, fmt.Sprintf("%06d%s", i+j, strings.Repeat(".", 300)))
			}
			b.do(t, args...)
		}
		calls, moved := 0, 0
		for {
			p, err := b.Promote(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p.Promoted == 0 {
				break
			}
			calls, moved = calls+1, moved+p.Promoted
		}
		if moved != 20_000 || calls != 20_000/batch {
			t.Errorf("batch %d: moved %d in %d calls, want all in %d", batch, moved, calls, 20_000/batch)
		}
		ready, err := b.rdb.LRange(t.Context(), b.keys.Ready, 0, -1).Result()
		if err != nil || len(ready) != 20_000 {
			t.Fatalf("ready holds %d, %v", len(ready), err)
		}
		for i, text := range ready {
			if !strings.HasPrefix(text, fmt.Sprintf("%06d.", i)) {
				t.Fatalf("ready[%d] = %.10s, want them in order of their due times", i, text)
			}
		}
	}
}
