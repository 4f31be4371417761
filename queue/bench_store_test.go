package queue_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// benchPool is how many texts a benchmark moves before it fills its key again.
const benchPool = 500_000

// legacyScript returns one of the old consumer's scripts (CONTRACT 1.1).
func legacyScript(t testing.TB, name string) *redis.Script {
	t.Helper()
	source, err := os.ReadFile("../testdata/legacy/lua/" + name + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	return redis.NewScript(string(source))
}

// fillScript is a script, since a benchmark fills half a million texts of 300 bytes: KEYS[1] the key, ARGV: its
// type, the first number, how many, and the filling.
var fillScript = redis.NewScript(`
for i = ARGV[2], ARGV[2] + ARGV[3] - 1 do
  local text = '{"uuid":"' .. string.format('%032d', i) .. '","topic":"mail","payload":"' .. ARGV[4] .. '","retry":0,"last_error":""}'
  if ARGV[1] == 'zset' then redis.call('ZADD', KEYS[1], 1000000000000 + i, text) else redis.call('RPUSH', KEYS[1], text) end
end`)

func (b bench) fill(t testing.TB, key, kind string, n int) {
	t.Helper()
	b.do(t, "FLUSHALL")
	for i := 0; i < n; i += 5000 {
		err := fillScript.Run(t.Context(), b.rdb, []string{key}, kind, i, min(5000, n-i), strings.Repeat("x", 205)).Err()
		if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
			t.Fatal(err)
		}
	}
}

// BenchmarkStorePromote empties a pool of due texts, with the legacy delay_move run free and with ours.
func BenchmarkStorePromote(b *testing.B) {
	for _, batch := range []int{200, 500} {
		s := newBench(b, func(o *queue.Options) { o.Batch, o.ReadyMax = batch, 1<<30 })
		b.Run(fmt.Sprintf("legacy/batch=%d", batch), func(b *testing.B) {
			move := legacyScript(b, "delay_move")
			keys := []string{s.keys.Pool, s.keys.Ready}
			promoteAll(b, s, func() int {
				n, err := move.Run(b.Context(), s.rdb, keys, int64(2e12), batch, 1<<30).Int()
				if err != nil {
					b.Fatal(err)
				}
				return n
			})
		})
		b.Run(fmt.Sprintf("ours/batch=%d", batch), func(b *testing.B) {
			promoteAll(b, s, func() int {
				p, err := s.Promote(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				return p.Promoted
			})
		})
	}
}

// promoteAll times step over whole pools: one b.N is one pool.
func promoteAll(b *testing.B, s bench, step func() int) {
	b.Helper()
	drain(b, s, step, func() { s.fill(b, s.keys.Pool, "zset", benchPool) })
}

// drain times step, which returns how many it moved, until it moves none: one b.N is what refill puts there. Beside
// the rate it reports Redis's own CPU time a job, which a busy machine disturbs less.
func drain(b *testing.B, s bench, step func() int, refill func()) {
	b.Helper()
	moved, cpu := 0, 0.0
	s.do(b, "CONFIG", "SET", "slowlog-log-slower-than", 5000) // us: what no script call may take
	s.do(b, "CONFIG", "SET", "slowlog-max-len", 1000)
	slow := 0.0
	for b.Loop() {
		b.StopTimer()
		refill()
		before := s.cpu(b)
		s.do(b, "SLOWLOG", "RESET")
		b.StartTimer()
		for n := step(); n > 0; n = step() {
			moved += n
		}
		b.StopTimer()
		cpu += s.cpu(b) - before
		slow += float64(s.do(b, "SLOWLOG", "LEN").(int64))
		b.StartTimer()
	}
	b.ReportMetric(float64(moved)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(cpu*1e6/float64(moved), "redis-us/job")
	b.ReportMetric(slow, "calls>5ms")
}

// cpu is the CPU time the server has used, in seconds.
func (b bench) cpu(t testing.TB) float64 {
	t.Helper()
	info, err := b.rdb.InfoMap(t.Context(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += seconds
	}
	return sum
}

// BenchmarkStoreClaim takes texts one by one with the legacy pop_mark, and 32 at a time with ours.
func BenchmarkStoreClaim(b *testing.B) {
	const batch, length = 32, 64_000
	s := newBench(b, nil)
	refill := func() { s.fill(b, s.keys.Ready, "list", length) }
	b.Run("legacy", func(b *testing.B) {
		pop := legacyScript(b, "pop_mark")
		drain(b, s, func() int {
			err := pop.Run(b.Context(), s.rdb, []string{s.keys.Ready, s.keys.Running}, int64(2e12)).Err()
			if err == redis.Nil { //nolint:errorlint // go-redis returns it bare
				return 0
			}
			if err != nil {
				b.Fatal(err)
			}
			return 1
		}, refill)
	})
	b.Run("ours", func(b *testing.B) {
		drain(b, s, func() int {
			c, err := s.Claim(b.Context(), batch)
			if err != nil {
				b.Fatal(err)
			}
			return len(c.List)
		}, refill)
	})
}
