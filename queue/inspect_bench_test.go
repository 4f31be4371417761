package queue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// How much lies there when people look.
const (
	inspectPool = 1_000_000
	inspectDead = 200_000
)

var fillDeadScript = redis.NewScript(`
for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
  redis.call('RPUSH', KEYS[1], '{"job":{"uuid":"d' .. string.format('%d', i) .. '","payload":"' .. ARGV[3] .. '","retry":6,"last_error":"boom"},'
    .. '"error":"boom","trace":"#0 ' .. ARGV[3] .. '","at":"2026-01-02 03:04:05"}')
end`)

// BenchmarkInspect looks at single jobs among very many, and moves them. Beside the time of each it reports the slowest
// command that Redis saw meanwhile, by its slow log.
func BenchmarkInspect(b *testing.B) {
	s := newBench(b, nil)
	s.fill(b, s.keys.Pool, "zset", inspectPool)
	for i := 0; i < inspectDead; i += 5000 {
		err := fillDeadScript.Run(b.Context(), s.rdb, []string{s.keys.Dead}, i, 5000, strings.Repeat("x", 205)).Err()
		if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
			b.Fatal(err)
		}
	}
	look := func(place queue.Place, offset int64) func() {
		return func() { onePage(b, s.Store, place, offset) }
	}
	search := func(q queue.Query, steps int) func() {
		return func() {
			found, err := s.NewSearch(q, time.UTC)
			cursor := ""
			for step := 0; err == nil && (step == 0 || cursor != "") && step < steps; step++ {
				var f queue.Found
				f, err = found.Next(b.Context(), cursor)
				cursor = f.Cursor
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	move := func(offset int64, replay, undo bool) func() {
		return func() {
			e := onePage(b, s.Store, queue.InDead, offset)
			m, err := s.PlanDrop(e)
			if replay {
				m, err = s.PlanReplay(b.Context(), e, queue.ReplayOptions{}, time.UTC)
			}
			if err == nil {
				_, err = s.Move(b.Context(), m)
			}
			if err == nil && undo {
				_, err = s.Undo(b.Context(), m, false)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, bm := range []struct {
		name string
		step func()
	}{
		{"peek/pool", look(queue.InPool, 0)},
		{"peek/pool/middle", look(queue.InPool, inspectPool/2)},
		{"peek/dead", look(queue.InDead, 0)},
		{"peek/dead/middle", look(queue.InDead, inspectDead/2)},
		{"search/pool/100steps", search(queue.Query{UUID: "none", Places: []queue.Place{queue.InPool}}, 100)},
		{"search/all", search(queue.Query{Prefix: "none"}, 1<<30)},
		{"search/dead/error", search(queue.Query{Error: "none", Places: []queue.Place{queue.InDead}}, 1<<30)},
		{"replay/newest", move(10, true, false)},
		{"replay/near", move(9_000, true, true)},
		{"replay/middle", move(inspectDead/2, true, true)},
		{"drop/middle", move(inspectDead/2, false, true)},
		{"ref/middle", func() {
			if _, err := s.Entry(b.Context(), onePage(b, s.Store, queue.InDead, inspectDead/2).Ref()); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(bm.name, func(b *testing.B) { slowest(b, s, bm.step) })
	}
}

// onePage is the first entry of a page of 50.
func onePage(t testing.TB, s *queue.Store, place queue.Place, offset int64) queue.Entry {
	t.Helper()
	p, err := s.Peek(t.Context(), place, queue.Page{Offset: offset, Limit: 50})
	if err != nil || len(p.Entries) == 0 {
		t.Fatalf("%d entries, %v", len(p.Entries), err)
	}
	return p.Entries[0]
}

// slowest times step and reports what its commands took at Redis, in milliseconds: the slowest, and below what 99 of 100 stay.
// On a busy machine the slowest is one during which Redis did not run.
func slowest(b *testing.B, s bench, step func()) {
	b.Helper()
	s.do(b, "CONFIG", "SET", "slowlog-max-len", 1_000_000)
	s.do(b, "CONFIG", "SET", "slowlog-log-slower-than", 0)
	s.do(b, "SLOWLOG", "RESET")
	for b.Loop() {
		step()
	}
	s.do(b, "CONFIG", "SET", "slowlog-log-slower-than", -1)
	logs, err := s.rdb.SlowLogGet(b.Context(), -1).Result()
	if err != nil || len(logs) == 0 {
		b.Fatal(len(logs), err)
	}
	slices.SortFunc(logs, func(a, b redis.SlowLog) int { return int(a.Duration - b.Duration) })
	last := logs[len(logs)-1]
	b.ReportMetric(float64(last.Duration.Microseconds())/1000, "slowest-ms")
	b.ReportMetric(float64(logs[len(logs)*99/100].Duration.Microseconds())/1000, "p99-ms")
	if last.Duration > 10*time.Millisecond {
		b.Logf("slowest: %s, %.60s", last.Duration, strings.Join(last.Args, " "))
	}
}
