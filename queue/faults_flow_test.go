package queue_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// halves fails the jobs whose uuid begins with f and lets the others pass, once release is closed.
func (r *runs) halves(release <-chan struct{}) func(context.Context, compat.Job) compat.Outcome {
	return func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		if strings.HasPrefix(job.UUID(), "f") {
			return failed
		}
		return done
	}
}

// startTwenty puts twenty jobs in hand, which end when release is closed: ten done and ten failed, after which the
// keys are to be as want says.
func startTwenty(t *testing.T, b bench) (f *flow, r *runs, release chan struct{}, want Keys) {
	t.Helper()
	many := func(o *queue.Options) { o.Workers = 20 }
	r = newRuns()
	release = make(chan struct{})
	f = startFlow(t, b, many, r.halves(release))
	want = Keys{Pool: map[string]string{}}
	for i := range 10 {
		b.ready(t, text(fmt.Sprintf("d%d", i)), text(fmt.Sprintf("f%d", i)))
		want.Pool[fmt.Sprintf(`{"uuid":"f%d","retry":1,"last_error":"no"}`, i)] = "*"
	}
	eventually(t, "the runs", func() bool { return r.count() == 20 })
	return f, r, release, want
}

// faultCase puts twenty jobs in hand, lets a fault begin, ends their runs, ends the fault, and wants
// ten complete and ten failed once. end returns when the fault has lasted long enough.
func faultCase(t *testing.T, b bench, fault queue.Fault, begin, end func()) *flow {
	t.Helper()
	f, r, release, want := startTwenty(t, b)
	begin()
	close(release)
	eventually(t, "the fault to be seen", func() bool {
		return f.consumer.Health().SettleErr != nil && f.sum(t, "sidecar_redis_errors_total", fault.String()) > 0
	})
	end()
	eventually(t, "all to be settled", func() bool { return f.consumer.Health().InHand == 0 })
	wantKeys(t, b, want)
	if r.count() != 20 {
		t.Errorf("%d runs, want 20", r.count())
	}
	eventually(t, "health", func() bool {
		h := f.consumer.Health()
		return h.SettleErr == nil && h.ScanErr == nil && h.ClaimErr == nil
	})
	if lines := f.log.count("level=WARN"); lines > 15 {
		t.Errorf("%d warnings: the log is flooded", lines)
	}
	return f
}

// C101: the settling scripts first free what they free, so a full Redis takes failures as well.
func TestAFullRedisLosesNoVerdict(t *testing.T) {
	b := newBench(t, nil)
	f, _, release, want := startTwenty(t, b)
	b.do(t, "CONFIG", "SET", "maxmemory", 1)
	if err := b.rdb.Set(t.Context(), "x", "y", 0).Err(); queue.FaultOf(err) != queue.OOM {
		t.Fatalf("got %v, want a full Redis", err)
	}
	close(release)
	wait(t.Context(), 300*time.Millisecond)
	b.do(t, "CONFIG", "SET", "maxmemory", 0)
	eventually(t, "all to be settled", func() bool { return f.consumer.Health().InHand == 0 })
	wantKeys(t, b, want)
}

// C103: what a sidecar sees of a demoted server.
func TestADemotedRedisLosesNoVerdict(t *testing.T) {
	b := newBench(t, nil)
	faultCase(t, b, queue.ReadOnly,
		func() { b.do(t, "REPLICAOF", "127.0.0.1", 1) },
		func() { b.do(t, "REPLICAOF", "NO", "ONE") })
}

// C107
func TestARedisThatCannotSaveIsWaitedFor(t *testing.T) {
	b := newBench(t, nil, "save 3600 1", "stop-writes-on-bgsave-error yes")
	blocked := filepath.Join(b.server.Dir, "dump.rdb")
	faultCase(t, b, queue.MisConf,
		func() {
			if err := os.Mkdir(blocked, 0o700); err != nil { // a save ends in renaming a file to this name
				t.Fatal(err)
			}
			_ = b.rdb.Do(t.Context(), "BGSAVE").Err()
			eventually(t, "the save to fail", func() bool {
				info := b.rdb.InfoMap(t.Context(), "persistence").Val()
				return info["Persistence"]["rdb_last_bgsave_status"] == "err"
			})
		},
		func() {
			if err := os.Remove(blocked); err != nil {
				t.Fatal(err)
			}
			_ = b.rdb.Do(t.Context(), "BGSAVE").Err()
		})
}

// C90
func TestABusyRedisIsWaitedFor(t *testing.T) {
	b := newBench(t, nil, "lua-time-limit 100")
	faultCase(t, b, queue.Busy,
		func() {
			endless := redis.NewClient(&redis.Options{Addr: b.server.Addr, ReadTimeout: -1, MaxRetries: -1})
			t.Cleanup(func() { _ = endless.Close() })
			go endless.Eval(context.WithoutCancel(t.Context()), "while true do end", nil)
			eventually(t, "redis to be busy", func() bool {
				return queue.FaultOf(b.rdb.Get(t.Context(), "x").Err()) == queue.Busy
			})
		},
		func() {
			wait(t.Context(), time.Second)
			b.do(t, "SCRIPT", "KILL")
		})
}

func TestARedisThatLoadsIsWaitedFor(t *testing.T) {
	b := newBench(t, nil, "appendonly yes", "appendfsync always")
	faultCase(t, b, queue.Network, b.server.Kill, b.server.Start)
}

func TestAKeyOfTheWrongTypeStopsItsTopicAndLosesNothing(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	b.do(t, "SET", b.keys.Ready, "x")
	b.do(t, "ZADD", b.keys.Pool, 1, text("a"), 2, text("b"))
	f := startFlow(t, b, nil, r.handler(done))
	eventually(t, "the fault to be seen", func() bool { return queue.FaultOf(f.consumer.Health().ScanErr) == queue.WrongType })
	wait(t.Context(), 500*time.Millisecond)
	f.wantLogged(t, 1, "step=promote", b.keys.Ready)
	b.do(t, "DEL", b.keys.Ready)
	eventually(t, "the runs", func() bool { return r.count() == 2 && b.empty(t) })
	wantKeys(t, b, Keys{})
}

// C88
func TestScriptsForgottenByRedisStopNobody(t *testing.T) {
	const jobs = 1000
	b := newBench(t, nil)
	r := newRuns()
	f := startFlow(t, b, func(o *queue.Options) { o.Workers = 8 }, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 2*time.Millisecond)
		return done
	})
	for i := range jobs {
		b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+float64(i)/2, text(fmt.Sprint(i)))
		if i%20 == 0 {
			b.do(t, "SCRIPT", "FLUSH")
		}
	}
	for b.size(t, b.keys.Pool, b.keys.Ready, b.keys.Running) > 0 {
		b.do(t, "SCRIPT", "FLUSH")
		wait(t.Context(), 20*time.Millisecond)
	}
	eventually(t, "all runs", func() bool { return r.count() == jobs && b.empty(t) })
	if got := f.sum(t, "sidecar_redis_errors_total"); got != 0 {
		t.Errorf("%v errors, want none", got)
	}
	wantKeys(t, b, Keys{})
}
