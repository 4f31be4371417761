package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/queue"
)

// BenchmarkLateness enqueues 200 jobs a second, each with a delay of its own, and reports how much later
// than due they start, by Redis's clock.
func BenchmarkLateness(b *testing.B) {
	for _, mode := range []string{"tracking", "polling"} {
		b.Run(mode, func(b *testing.B) { benchLateness(b, mode == "tracking") })
	}
}

func benchLateness(b *testing.B, tracking bool) {
	b.Helper()
	change := func(o *queue.Options) { o.Workers, o.ScanInterval = 8, 100*time.Millisecond }
	bed := newBench(b, change)
	var wakes queue.Wakes
	told := func() bool { return false }
	if tracking {
		waker := tracked(b, bed, "mail")
		wakes, told = waker.Topic("mail"), waker.Active
	}
	lateness := make(chan time.Duration, b.N)
	startWoken(b, bed, change, func(ctx context.Context, job compat.Job) compat.Outcome {
		now, err := bed.rdb.Time(ctx).Result()
		if err != nil {
			b.Error(err)
		}
		due, _ := strconv.ParseFloat(job.UUID(), 64)
		lateness <- time.Duration(float64(now.UnixMicro())-due*1000) * time.Microsecond //nolint:forbidigo // TIME as go-redis returns it
		return done
	}, wakes, told)

	producer := time.NewTicker(5 * time.Millisecond)
	defer producer.Stop()
	b.ResetTimer()
	for i := range b.N {
		due := bed.nowMS(b) + 200 + float64(i*7919%400) // 0.2 to 0.6 s, in no order
		score := strconv.FormatFloat(due, 'f', 3, 64)
		bed.do(b, "ZADD", bed.keys.Pool, score, text(score))
		<-producer.C
	}
	list := make([]time.Duration, 0, b.N)
	for range b.N {
		list = append(list, <-lateness)
	}
	b.StopTimer()
	slices.Sort(list)
	b.ReportMetric(float64(list[len(list)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(list[len(list)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkConsume drains due jobs of 300 bytes with a handler that does nothing: promote, claim, complete.
func BenchmarkConsume(b *testing.B) {
	for _, workers := range []int{8, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			change := func(o *queue.Options) { o.Workers = workers }
			bed := newBench(b, change)
			pipe := bed.rdb.Pipeline()
			for i := range b.N {
				job := fmt.Sprintf(`{"uuid":"%d","payload":%q,"retry":0,"last_error":""}`, i, strings.Repeat("x", 240))
				pipe.ZAdd(b.Context(), bed.keys.Pool, redis.Z{Score: 1, Member: job})
				if i%1000 == 999 || i == b.N-1 {
					if _, err := pipe.Exec(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			var n atomic.Int64
			all := make(chan struct{})
			b.ReportAllocs()
			b.ResetTimer()
			f := startFlow(b, bed, change, func(context.Context, compat.Job) compat.Outcome {
				if n.Add(1) == int64(b.N) {
					close(all)
				}
				return done
			})
			<-all
			f.stop(b)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
