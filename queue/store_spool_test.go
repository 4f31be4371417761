package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

const smsList = "queue:prod:send_sms_3"

// rowsOf are rows with ids from first on, each with its own ticket, due at once.
func rowsOf(first int64, texts ...string) []queue.SpoolRow {
	rows := make([]queue.SpoolRow, len(texts))
	for i, text := range texts {
		id := first + int64(i)
		rows[i] = queue.SpoolRow{ID: id, Ticket: fmt.Sprintf("%032x", id), Text: text}
	}
	return rows
}

// spooling is a reading of a whole table, with rows for a list.
func spooling(reading int64, rows []queue.SpoolRow) queue.Spooling {
	s := queue.Spooling{Spool: "5f", Reading: reading, Last: true, Key: smsList, List: true, Unit: queue.Milliseconds, Rows: rows}
	if len(rows) > 0 {
		s.Upto = rows[len(rows)-1].ID
	}
	return s
}

// offer offers s and wants so many rows added and so many found there.
func offer(t *testing.T, n *queue.Inlet, s queue.Spooling, added, before int) queue.Spooled {
	t.Helper()
	got, err := n.Spool(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Added != added || got.Before != before || got.Later != 0 || got.Refused != nil {
		t.Fatalf("got %+v, want %d added and %d found", got, added, before)
	}
	return got
}

// wantList checks what is in a list, in the order in which first in is first out.
func wantList(t *testing.T, rdb redis.Cmdable, key string, want ...string) {
	t.Helper()
	got, err := rdb.LRange(t.Context(), key, 0, -1).Result()
	slices.Reverse(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s holds %q, %v; want %q", key, got, err, want)
	}
}

func TestASpoolsRowsComeInOnceAndInOrder(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	s := spooling(1, rowsOf(1, "a", "b", "a", "\x00\xff bytes"))
	offer(t, n, s, 4, 0)
	offer(t, n, s, 0, 4) // its reply was lost
	s = spooling(2, append(s.Rows, rowsOf(5, "c")...))
	offer(t, n, s, 1, 4) // nobody came to delete the rows
	wantList(t, b.rdb, smsList, "a", "b", "a", "\x00\xff bytes", "c")
}

func TestASpoolsOverdueJobsAreDueNowAndTheOthersInTheirTime(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "shop_")
	for unit, ms := range map[queue.ScoreUnit]float64{queue.Milliseconds: 1, queue.Seconds: 1000} {
		now := b.nowMS(t)
		rows := rowsOf(1, "z: overdue", "a: overdue too", "in an hour")
		rows[0].Due, rows[1].Due, rows[2].Due = int64(now)-5000, 0, int64(now)+3600_000
		s := spooling(1, rows)
		s.Key, s.List, s.Unit = "delay:pool:mail_"+string(unit), false, unit
		offer(t, n, s, 3, 0)
		got := b.rdb.ZRangeWithScores(t.Context(), "shop_"+s.Key, 0, -1).Val()
		for i, row := range rows {
			want := max(float64(row.Due), now)
			if got[i].Member != row.Text || got[i].Score*ms < want-1 || got[i].Score*ms > want+float64(tolerance.Milliseconds()) {
				t.Errorf("%s: place %d has %v, want %q due at %.0f ms", unit, i, got[i], row.Text, want)
			}
		}
	}
}

// Whoever is held up for long between reading and writing finds that somebody else was there, whatever became of the rows.
func TestAReadingThatIsPassedByALaterOneChangesNothing(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	early := spooling(7, rowsOf(1, "a", "b"))
	offer(t, n, spooling(8, rowsOf(1, "a", "b")), 2, 0)
	offer(t, n, spooling(9, rowsOf(3, "c")), 1, 0) // a and b are deleted, and their marks forgotten
	got, err := n.Spool(t.Context(), early)
	if err != nil || got.Later != 9 || got.In != nil {
		t.Errorf("got %+v, %v; want it told of reading 9", got, err)
	}
	wantList(t, b.rdb, smsList, "a", "b", "c")
}

// In MySQL a row becomes visible when its transaction ends, also behind one with a higher id.
func TestARowThatAppearsLateIsNotPassedOver(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	offer(t, n, spooling(1, rowsOf(5, "five")), 1, 0)
	rows := slices.Concat(rowsOf(4, "four"), rowsOf(5, "five"))
	first := spooling(2, rows[:1]) // a reading of one row: five is behind it and has its mark
	first.Last = false
	offer(t, n, first, 1, 0)
	second := spooling(3, rows[1:])
	second.After = 4
	offer(t, n, second, 0, 1)
	wantList(t, b.rdb, smsList, "five", "four")
}

func TestARowWithAnIDThatWasUsedBeforeIsAnotherRow(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	offer(t, n, spooling(1, rowsOf(1, "before the restart")), 1, 0)
	again := rowsOf(1, "behind it")
	again[0].Ticket = strings.Repeat("e", 32)
	offer(t, n, spooling(2, again), 1, 0)
	wantList(t, b.rdb, smsList, "before the restart", "behind it")
}

// Marks are few, however many rows there were.
func TestMarksOfDeletedRowsAreForgotten(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	for i := range int64(20) {
		s := spooling(i+1, rowsOf(i*10+1, "a", "b", "c"))
		s.After = 0
		offer(t, n, s, 3, 0)
	}
	marks := b.rdb.Get(t.Context(), compat.SpoolMarks("", smsList, "5f")).Val()
	if fields := strings.Fields(marks); len(fields) != 4 || fields[0] != "20" {
		t.Errorf("marks are %q, want those of the last reading only", marks)
	}
	if n := b.do(t, "DBSIZE"); n != int64(2) {
		t.Errorf("%v keys, want the list and its marks", n)
	}
}

func TestWhatRedisRefusesStaysInTheSpool(t *testing.T) {
	b := newBench(t, nil)
	n := queue.NewInlet(b.rdb, "")
	s := spooling(1, rowsOf(1, "a", "b"))
	b.do(t, "SET", smsList, "somebody else's")
	got, err := n.Spool(t.Context(), s)
	if err != nil || got.Refused == nil || !strings.Contains(got.Refused.Error(), "WRONGTYPE") || slices.Contains(got.In, true) {
		t.Fatalf("got %+v, %v; want both refused", got, err)
	}
	b.do(t, "DEL", smsList)
	offer(t, n, s, 2, 0)
	wantList(t, b.rdb, smsList, "a", "b")
}

// A job without a mark would come in again at every try.
func TestNothingIsAddedWhereMarksAreRefused(t *testing.T) {
	b := newBench(t, nil)
	for name, rules := range map[string][]any{
		"no SET":       {"~*", "+@all", "-set"},
		"another key":  {"~queue:*", "+@all"},
		"not to write": {"~queue:*", "%R~sidecar:*", "+@all"},
	} {
		user := asUser(t, b, rules...)
		if got, err := queue.NewInlet(user.rdb, "").Spool(t.Context(), spooling(1, rowsOf(1, "a"))); queue.FaultOf(err) != queue.NoPerm {
			t.Errorf("%s: got %+v, %v; want it refused", name, got, err)
		}
	}
	b.do(t, "CONFIG", "SET", "maxmemory", "1")
	if got, err := queue.NewInlet(b.rdb, "").Spool(t.Context(), spooling(1, rowsOf(1, "a"))); queue.FaultOf(err) != queue.OOM {
		t.Errorf("a full Redis: got %+v, %v; want it refused", got, err)
	}
	if n := b.do(t, "DBSIZE"); n != int64(0) {
		t.Errorf("%v keys were made", n)
	}
}

// The page on Redis users names what is enough.
func TestADrainNeedsFewRights(t *testing.T) {
	b := newBench(t, nil)
	user := asUser(t, b, "~delay:*", "~queue:*", "~sidecar:spool:*", "+eval", "+evalsha", "+time", "+get", "+set", "+zadd", "+lpush")
	n := queue.NewInlet(user.rdb, "")
	offer(t, n, spooling(1, rowsOf(1, "a")), 1, 0)
	pool := spooling(1, rowsOf(2, "b"))
	pool.Key, pool.List = "delay:pool:mail", false
	offer(t, n, pool, 1, 0)
}

func TestASpoolComesIntoACluster(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	rdb := open(t, queue.RedisOptions{Addrs: []string{c.Nodes[0].Addr}, Cluster: true}, "{mail}")
	n := queue.NewInlet(rdb, "")
	for _, key := range []string{"queue:{sms}:send_3", "queue:prod:send_sms", "queue:prod:other", "queue:prod:one_more"} {
		s := spooling(1, rowsOf(1, "a", "b"))
		s.Key = key
		offer(t, n, s, 2, 0)
		offer(t, n, s, 0, 2)
		wantList(t, c.Client(), key, "a", "b")
	}
}
