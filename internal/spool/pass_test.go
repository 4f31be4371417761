package spool_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/internal/spool"
	"sidecar/queue"
)

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("job %04d", i)
	}
	return list
}

func TestStoredJobsComeInWithEveryByteWhereTheyBelong(t *testing.T) {
	r := newRig(t)
	now := r.rdb.Time(t.Context()).Val().UnixMilli() //nolint:forbidigo // TIME as go-redis returns it
	due, delay := now+3600_000, int64(0)
	bytes := "\x00\xff{\"a\":\"\\u00e9 äöü\"}\r\n"
	r.units = map[string]queue.ScoreUnit{"delay:pool:old": queue.Seconds}
	r.store(slices.Concat(
		texts(smsList, "one", bytes, "one"),
		[]job{{Key: "delay:pool:mail", Text: bytes, DueMS: &due}, {Key: "delay:pool:old", Text: "s", DueMS: &due}, {Key: "delay:pool:mail", Text: "now", DelayMS: &delay}},
		texts("queue:prod:\xe4\xb8\xad", "other list"),
	)...)
	wantDrained(t, r.drainer(), spool.Progress{Added: 7}, 0)
	r.wantList(smsList, "one", bytes, "one")
	r.wantList("queue:prod:\xe4\xb8\xad", "other list")
	got := r.rdb.ZRangeWithScores(t.Context(), "delay:pool:mail", 0, -1).Val()
	if len(got) != 2 || got[0].Member != "now" || got[0].Score < float64(now) || got[1].Member != bytes || got[1].Score != float64(due) {
		t.Errorf("the pool holds %v", got)
	}
	if score := r.rdb.ZScore(t.Context(), "delay:pool:old", "s").Val(); score != float64(due)/1000 {
		t.Errorf("in seconds: %f, want %f", score, float64(due)/1000)
	}
	wantDrained(t, r.drainer(), spool.Progress{}, 0)
}

func TestASpoolThatNobodyHasUsedIsEmptyAndNotCreated(t *testing.T) {
	r := newRig(t)
	wantDrained(t, r.drainer(), spool.Progress{}, 0)
	if s, err := r.table().Status(t.Context()); err != nil || !s.Missing || s.Rows != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	r.store(texts(smsList, "a")...) // PHP creates it as its own
	if s, err := r.table().Status(t.Context()); err != nil || s.Missing || s.Rows != 1 || !slices.Equal(s.Keys, []spool.KeyRows{{Key: smsList, Rows: 1}}) || s.Oldest > time.Minute {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Which unit a pool has its producer knows; the sidecar that drains need not consume the topic.
func TestAPoolInSecondsGetsSecondsWhereNobodyConfiguresIt(t *testing.T) {
	r := newRig(t)
	due := r.rdb.Time(t.Context()).Val().UnixMilli() + 3600_000 //nolint:forbidigo // TIME as go-redis returns it
	r.store(job{Key: "delay:pool:sec", Text: "told", DueMS: &due, Seconds: true}, job{Key: "delay:pool:sec", Text: "beside it", DueMS: &due})
	wantDrained(t, r.drainer(), spool.Progress{Added: 2}, 0)
	for _, text := range []string{"told", "beside it"} {
		if score := r.rdb.ZScore(t.Context(), "delay:pool:sec", text).Val(); score != float64(due)/1000 {
			t.Errorf("%s: %f, want %f", text, score, float64(due)/1000)
		}
	}
}

// A file that PHP-FPM's user may not see looks like one that is not there, and may hold jobs.
func TestASpoolThatCannotBeSeenIsNotTakenForAnEmptyOne(t *testing.T) {
	r := newRig(t)
	r.opts.DSN = "sqlite:" + filepath.Join(r.fpm.Shared(), "mistyped", "spool.sqlite")
	if s, err := r.table().Status(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot see "+r.opts.DSN[len("sqlite:"):]) {
		t.Errorf("status: %+v, %v, want an error that names the file", s, err)
	}
	if _, err := r.drainer().Begin(1, -1).Step(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot see ") {
		t.Errorf("drain: %v, want an error", err)
	}
}

func TestManyRowsComeInBatchesAndInOrder(t *testing.T) {
	r := newRig(t)
	want := numbered(250)
	r.store(texts(smsList, want...)...)
	r.opts.Batch = 30
	got, left, err := drain(t, r.drainer(), 100)
	if got.Added != 100 || left != 150 || err != nil {
		t.Errorf("of 100 at most: %+v, %d left, %v", got, left, err)
	}
	wantDrained(t, r.drainer(), spool.Progress{Added: 150}, 0)
	r.wantList(smsList, want...)
}

// A batch ends with the row that makes it a megabyte, but not before the first.
func TestLargeTextsComeInOneByOne(t *testing.T) {
	r := newRig(t)
	large := []string{strings.Repeat("a", 3<<20), strings.Repeat("b", 1<<19), strings.Repeat("c", 1<<19), strings.Repeat("d", 1<<19), "e"}
	for _, text := range large {
		r.store(texts(smsList, text)...)
	}
	wantDrained(t, r.drainer(), spool.Progress{Added: 5}, 0)
	got := r.rdb.LRange(t.Context(), smsList, 0, -1).Val()
	slices.Reverse(got)
	if !slices.Equal(got, large) {
		t.Errorf("%d texts came in, or not as they were", len(got))
	}
}

func TestRowsThatRedisRefusesStayAndHoldUpNoOtherKey(t *testing.T) {
	r := newRig(t)
	r.opts.Batch = 4
	r.rdb.Set(t.Context(), "queue:broken", "somebody else's", 0)
	broken, fine := numbered(10), numbered(10)
	for i := range 10 {
		r.store(slices.Concat(texts("queue:broken", broken[i]), texts(smsList, fine[i]))...)
	}
	got, left, err := drain(t, r.drainer(), 0)
	if got != (spool.Progress{Added: 10, Held: 10}) || left != 10 || err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("got %+v, %d left, %v", got, left, err)
	}
	r.wantList(smsList, fine...)
	r.rdb.Del(t.Context(), "queue:broken")
	wantDrained(t, r.drainer(), spool.Progress{Added: 10}, 0)
	r.wantList("queue:broken", broken...)
}

// Killed after any request, with the request done or not: what is in is known, and what is not comes in.
func TestAPassThatEndsAnywhereIsGoneOnWith(t *testing.T) {
	r := newRig(t)
	r.opts.Batch = 2
	var want []string
	for after := range 4 {
		for _, late := range []bool{false, true} {
			names := []string{fmt.Sprintf("%d %v a", after, late), fmt.Sprintf("%d %v b", after, late), fmt.Sprintf("%d %v c", after, late)}
			want = append(want, names...)
			r.store(texts(smsList, names...)...)
			table := spool.NewTable(r.opts, &failing{Asker: r.asker(), after: after, late: late})
			pass := spool.NewDrainer(r.opts, table, r.inlet(), nil).Begin(0, 0)
			var err error
			for more := true; more && err == nil; {
				more, err = pass.Step(t.Context())
			}
			// It is killed here: nobody calls Finish.
		}
	}
	if _, left, err := drain(t, r.drainer(), 0); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
	r.wantList(smsList, want...)
}

func TestTwoSidecarsDrainOneSpoolAtOnce(t *testing.T) {
	r := newRig(t)
	want := numbered(300)
	r.store(texts(smsList, want...)...)
	r.opts.Batch = 7
	var wg sync.WaitGroup
	for range 2 {
		d := r.drainer()
		wg.Go(func() {
			pass := d.Begin(0, 0)
			for more := true; more; {
				var err error
				if more, err = pass.Step(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
			if _, err := pass.Finish(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantDrained(t, r.drainer(), spool.Progress{}, 0)
	r.wantList(smsList, want...)
}

// A file from a backup counts from where it was; Redis has seen higher numbers.
func TestASpoolThatWasRestoredIsDrained(t *testing.T) {
	r := newRig(t)
	r.store(texts(smsList, "a")...)
	d := r.drainer()
	wantDrained(t, d, spool.Progress{Added: 1}, 0)
	for _, key := range r.rdb.Keys(t.Context(), "sidecar:spool:*").Val() {
		state := r.rdb.Get(t.Context(), key).Val()
		_, marks, _ := strings.Cut(state, " ")
		r.rdb.Set(t.Context(), key, strconv.Itoa(1000)+" "+marks, 0)
	}
	r.store(texts(smsList, "b")...)
	wantDrained(t, d, spool.Progress{Added: 1}, 0)
	r.wantList(smsList, "a", "b")
}
