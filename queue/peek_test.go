package queue_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/queue"
)

// uuidsOf are the uuids of entries.
func uuidsOf(list []queue.Entry) (uuids []string) {
	for _, e := range list {
		uuids = append(uuids, e.UUID)
	}
	return uuids
}

// serialized is text as phpredis stores it with its serializer.
func serialized(text string) string { return fmt.Sprintf("s:%d:\"%s\";", len(text), text) }

// peekAll goes through a place page by page.
func peekAll(t *testing.T, s *queue.Store, place queue.Place, limit int64) (list []queue.Entry) {
	t.Helper()
	page := queue.Page{Limit: limit}
	for range 1000 {
		p, err := s.Peek(t.Context(), place, page)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.Entries...)
		if page.Offset = p.Next; p.Next == 0 {
			return list
		}
	}
	t.Fatalf("%s has no last page", place)
	return nil
}

func TestPeekShowsEachPlaceInItsOrder(t *testing.T) {
	b := newBench(t, nil)
	now := b.nowMS(t)
	for i := range 5 {
		b.do(t, "ZADD", b.keys.Pool, now+float64(i)*1000, fmt.Sprintf(`{"uuid":"p%d","type":"mail","retry":%d,"crashes":1,"last_error":"e"}`, i, i))
		b.ready(t, fmt.Sprintf(`{"uuid":"r%d"}`, i))
		b.do(t, "ZADD", b.keys.Running, now+float64(i)*1000+0.5, fmt.Sprintf(`{"uuid":"c%d"}`, i))
		b.do(t, "RPUSH", b.keys.Dead, deadRecord(fmt.Sprintf(`{"uuid":"d%d","retry":6}`, i)))
	}
	for place, want := range map[queue.Place]string{
		queue.InPool: "[p0 p1 p2 p3 p4]", queue.InReady: "[r0 r1 r2 r3 r4]", queue.InRunning: "[c0 c1 c2 c3 c4]", queue.InDead: "[d4 d3 d2 d1 d0]",
	} {
		for _, limit := range []int64{1, 2, 5, 500} {
			if got := fmt.Sprint(uuidsOf(peekAll(t, b.Store, place, limit))); got != want {
				t.Errorf("%s by pages of %d: %s, want %s", place, limit, got, want)
			}
		}
		p, err := b.Peek(t.Context(), place, queue.Page{Offset: 1, Limit: 2})
		if err != nil || p.Total != 5 || p.Next != 3 || p.Now.IsZero() || len(p.Entries) != 2 {
			t.Errorf("%s: %+v, %v", place, p, err)
		}
		if p, err := b.Peek(t.Context(), place, queue.Page{Offset: 7, Limit: 2}); err != nil || p.Total != 5 || p.Next != 0 || len(p.Entries) != 0 {
			t.Errorf("%s behind its end: %+v, %v", place, p, err)
		}
	}
	p := peekAll(t, b.Store, queue.InPool, 10)[2]
	if p.Type != "mail" || p.Tries != 2 || p.Crashes != 1 || p.Error != "e" || p.Due != queue.ServerTime(now*1000)+2_000_000 || p.Index != 2 || p.Length != 5 || !p.Readable {
		t.Errorf("pool shows %+v", p)
	}
	if c := peekAll(t, b.Store, queue.InRunning, 10)[0]; c.Lease.IsZero() || c.Due != 0 {
		t.Errorf("running shows %+v", c)
	}
	d := peekAll(t, b.Store, queue.InDead, 10)[0]
	if d.Error != "boom" || d.Trace != "#0" || d.At != "2026-01-02 03:04:05" || !d.Reason || d.Index != 4 || d.Tries != 6 || d.Job != `{"uuid":"d4","retry":6}` || d.Stored != deadRecord(d.Job) {
		t.Errorf("dead shows %+v", d)
	}
}

func TestPeekRefusesAPageThatIsNone(t *testing.T) {
	b := newBench(t, nil)
	for _, page := range []queue.Page{{}, {Limit: 501}, {Limit: 1, Offset: -1}} {
		if _, err := b.Peek(t.Context(), queue.InPool, page); err == nil || !strings.Contains(err.Error(), "want an offset from 0 on and a limit of 1 to 500") {
			t.Errorf("%+v: %v", page, err)
		}
	}
	if _, err := b.Peek(t.Context(), "cellar", queue.Page{Limit: 1}); err == nil || !strings.Contains(err.Error(), `"cellar"`) {
		t.Error(err)
	}
}

func TestScoresInOddFormsAreShown(t *testing.T) {
	for unit, scale := range map[queue.ScoreUnit]float64{queue.Milliseconds: 1, queue.Seconds: 1000} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		for uuid, score := range map[string]string{"a": "-inf", "b": "0", "c": "1764488430.25", "d": "1e300", "e": "+inf"} {
			b.do(t, "ZADD", b.keys.Pool, score, `{"uuid":"`+uuid+`"}`)
			b.do(t, "ZADD", b.keys.Running, score, `{"uuid":"`+uuid+`"}`)
		}
		list := peekAll(t, b.Store, queue.InPool, 2)
		var due []queue.ServerTime
		for _, e := range list {
			due = append(due, e.Due)
		}
		if want := []queue.ServerTime{1, 1, queue.ServerTime(1764488430.25 * 1000 * scale), 0, 0}; !slices.Equal(due, want) {
			t.Errorf("%s: due %v, want %v", unit, due, want)
		}
		if list[0].Score != "-inf" || list[4].Score != "inf" {
			t.Errorf("scores %q and %q", list[0].Score, list[4].Score)
		}
		if got := fmt.Sprint(uuidsOf(peekAll(t, b.Store, queue.InRunning, 2))); got != "[a b c d e]" {
			t.Errorf("running shows %s", got)
		}
	}
}

func TestWhatIsNoJobIsShownAsItIs(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, "no job")
	b.do(t, "RPUSH", b.keys.Dead, "no record", deadRecord("caf\xe9"))
	if e := peekAll(t, b.Store, queue.InReady, 5)[0]; e.Readable || e.Job != "no job" || e.Stored != "no job" {
		t.Errorf("ready shows %+v", e)
	}
	dead := peekAll(t, b.Store, queue.InDead, 5)
	if dead[0].Job != "caf\xe9" || !dead[0].Reason || dead[0].Readable || dead[1].Stored != "no record" || dead[1].Reason {
		t.Errorf("dead shows %+v", dead)
	}
}

// A page of texts of a megabyte each would hold Redis up, and the one who looks as well.
func TestAPageOfLargeTextsIsShort(t *testing.T) {
	b := newBench(t, nil)
	for i := range 12 {
		text := fmt.Sprintf(`{"uuid":"%d","pad":%q}`, i, strings.Repeat("x", 400<<10))
		b.ready(t, text)
		b.do(t, "ZADD", b.keys.Pool, i, text)
	}
	for _, place := range []queue.Place{queue.InReady, queue.InPool} {
		p, err := b.Peek(t.Context(), place, queue.Page{Limit: 500})
		if err != nil || len(p.Entries) != 3 || p.Next != 3 || p.Total != 12 {
			t.Errorf("%s: %d entries, next %d of %d, %v", place, len(p.Entries), p.Next, p.Total, err)
		}
		if n := len(peekAll(t, b.Store, place, 500)); n != 12 {
			t.Errorf("%s: %d by pages", place, n)
		}
	}
}

// Small texts say nothing of those behind them, of which hundreds read at once would hold Redis up for seconds.
func TestALookAtLargeTextsBehindSmallOnesReadsFewAtATime(t *testing.T) {
	b := newBench(t, nil)
	for i := range 100 {
		text := strconv.Itoa(i)
		if i >= 10 {
			text += strings.Repeat("x", 50<<10)
		}
		b.ready(t, text)
		b.do(t, "ZADD", b.keys.Pool, i, text)
	}
	b.do(t, "CONFIG", "SET", "slowlog-log-slower-than", 0)
	for _, place := range []queue.Place{queue.InReady, queue.InPool} {
		b.do(t, "SLOWLOG", "RESET")
		if _, err := b.Peek(t.Context(), place, queue.Page{Limit: 500}); err != nil {
			t.Fatal(err)
		}
		looks, err := b.rdb.SlowLogGet(t.Context(), 128).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, look := range looks {
			if verb := strings.ToUpper(look.Args[0]); verb != "LRANGE" && verb != "ZRANGE" {
				continue
			}
			first, _ := strconv.Atoi(look.Args[2])
			last, _ := strconv.Atoi(look.Args[3])
			if n := last - first + 1; n > 32 {
				t.Errorf("%s: %d texts were read at once", place, n)
			}
		}
	}
}

func TestPeekShowsAListShardByShardTheOldestFirst(t *testing.T) {
	b := newListBench(t, 3, nil)
	for i := range 12 {
		b.push(t, i%3, listJob(fmt.Sprint(i)))
	}
	b.do(t, "LPUSH", smsKey, listJob("old"))
	want := "[0 3 6 9 1 4 7 10 2 5 8 11 old]"
	for _, limit := range []int64{1, 3, 5, 500} {
		list := peekAll(t, b.Store, queue.InReady, limit)
		if got := fmt.Sprint(uuidsOf(list)); got != want {
			t.Errorf("by pages of %d: %s, want %s", limit, got, want)
		}
		if list[12].Shard != 3 || list[5].Shard != 1 || list[5].Index != 2 || list[5].Length != 4 {
			t.Errorf("shards of %+v and %+v", list[12], list[5])
		}
	}
	if p, err := b.Peek(t.Context(), queue.InReady, queue.Page{Limit: 5}); err != nil || p.Total != 13 || p.Next != 5 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPeekShowsAListsClaimsWithoutTheirIDs(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.push(t, 0, listJobAt("a", 1), listJobAt("b", 0))
	if _, err := b.Claim(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Push(t.Context(), listJob("c"), time.Hour); err != nil {
		t.Fatal(err)
	}
	running, pool := peekAll(t, b.Store, queue.InRunning, 5)[0], peekAll(t, b.Store, queue.InPool, 5)[0]
	if running.Job != listJobAt("a", 1) || running.UUID != "a" || running.Tries != 1 || running.Lease.IsZero() || running.Stored == running.Job {
		t.Errorf("running shows %+v", running)
	}
	if pool.Job != listJob("c") || pool.Due.IsZero() {
		t.Errorf("pool shows %+v", pool)
	}
}

func TestPeekShowsAListItsOwnLettersOnly(t *testing.T) {
	b := newListBench(t, 0, nil)
	sms, mail := sharing(b, []string{"sms"}, nil)
	for i := range 700 {
		b.do(t, "LPUSH", b.lists.Dead, typedJob(fmt.Sprint("m", i), "letter", 3))
	}
	b.buried(t, sms, "sms", typedJob("s1", "sms", 3), "no credit")
	list := peekAll(t, sms, queue.InDead, 10)
	if len(list) != 1 || list[0].UUID != "s1" || list[0].Error != "no credit" || list[0].Index != 0 || list[0].Length != 701 {
		t.Errorf("its own are %+v", list)
	}
	others := peekAll(t, mail, queue.InDead, 100)
	if len(others) != 700 || others[0].UUID != "m699" || others[699].UUID != "m0" || others[0].Reason {
		t.Errorf("%d of the other", len(others))
	}
}

func TestPeekUnwrapsTexts(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Encoding = queue.EncodingAuto })
	text := `{"uuid":"w1"}`
	b.ready(t, serialized(text))
	b.do(t, "RPUSH", b.keys.Dead, serialized(compat.DeadRecord{Job: text, Error: "x", At: "2026-01-02 03:04:05"}.Text()))
	for _, place := range []queue.Place{queue.InReady, queue.InDead} {
		e := peekAll(t, b.Store, place, 5)[0]
		if e.Job != text || e.UUID != "w1" || e.Stored == text {
			t.Errorf("%s shows %+v", place, e)
		}
	}
}

// A hundred texts of 20 MB would be two gigabytes.
func TestALookReadsFewerTextsWhereTheyAreLarge(t *testing.T) {
	b := newBench(t, nil)
	large := strings.Repeat("x", 300<<10)
	for i := range 16 {
		job := `{"uuid":"` + strconv.Itoa(i) + `","x":"` + large + `"}`
		b.do(t, "ZADD", "delay:pool:mail", i, job)
		b.ready(t, job)
	}
	looks, err := b.Look(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range looks {
		if k.Length > 0 && (k.Length != 16 || k.Seen < 2 || k.Seen > 8) {
			t.Errorf("%s: looked at %d of %d texts", k.Key, k.Seen, k.Length)
		}
	}
}
