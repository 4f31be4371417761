package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/queue"
)

// BenchmarkAhead consumes jobs of 300 bytes that are ready, with a look-ahead for four workers and a handler
// that does nothing: what a job costs in queue and in Redis alone.
func BenchmarkAhead(b *testing.B) {
	change := func(o *queue.Options) { o.Workers, o.LookAhead = 4, 64 }
	bed := newBench(b, change)
	bed.fill(b, bed.keys.Ready, "list", b.N)
	var n atomic.Int64
	all := make(chan struct{})
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	change(&opts)
	gate := newSlots(256)
	handle := handlerFunc(func(context.Context, compat.Job) compat.Outcome {
		if n.Add(1) == int64(b.N) {
			close(all)
		}
		return done
	})
	metrics := queue.NewMetrics(prometheus.NewRegistry(), []string{opts.Topic})
	log := slog.New(slog.DiscardHandler)
	consumer := queue.NewConsumer(opts, queue.Parts{
		Store: bed.Store, Watch: bed.Store, Tracking: func() bool { return false }, Handler: handle, Gate: gate,
		Metrics: metrics, Outages: queue.NewOutages(log), Timezone: time.UTC, Log: log,
	})

	take, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ours, theirs, calls := ownCPU(b), bed.cpu(b), bed.calls(b)
	b.ReportAllocs()
	b.ResetTimer()
	ended := make(chan struct{})
	go func() { consumer.Run(take, context.WithoutCancel(take)); close(ended) }()
	<-all
	stop()
	<-ended
	b.StopTimer()
	jobs := float64(b.N)
	b.ReportMetric(jobs/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64((ownCPU(b)-ours).Microseconds())/jobs, "go-µs/job")
	b.ReportMetric((bed.cpu(b)-theirs)*1e6/jobs, "redis-µs/job")
	b.ReportMetric(jobs/float64(bed.calls(b)-calls), "jobs/call")
}

// ownCPU is the processor time this process has used.
func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// calls is how many scripts the server has run.
func (b bench) calls(t testing.TB) int64 {
	t.Helper()
	info, err := b.rdb.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	_, _ = fmt.Sscanf(info["Commandstats"]["cmdstat_evalsha"], "calls=%d", &n) // absent before the first
	return n
}
