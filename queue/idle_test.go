package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// commands returns how many commands the sidecar's kind has sent to Redis: the total counts what scripts do, too.
func (b bench) commands(t testing.TB) int {
	t.Helper()
	total := 0
	for name, stats := range b.rdb.InfoMap(t.Context(), "commandstats").Val()["Commandstats"] {
		switch name {
		case "cmdstat_evalsha", "cmdstat_eval", "cmdstat_mget", "cmdstat_ping", "cmdstat_hello", "cmdstat_client|tracking":
			calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
			n, err := strconv.Atoi(calls)
			if err != nil {
				t.Fatalf("%s: %s", name, stats)
			}
			total += n
		}
	}
	return total
}

// tracked runs a Waker for the topics until the test ends and waits until Redis tells it of changes.
func tracked(t testing.TB, b bench, topics ...string) *queue.Waker {
	t.Helper()
	waker := queue.NewWaker(b.rdb, "", topicsOf(topics...), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		waker.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, "tracking", waker.Active)
	return waker
}

func TestFiveIdleTopicsSendTenCommandsASecondAtMost(t *testing.T) {
	b := newBench(t, nil)
	topics := []string{"mail", "a", "b", "c", "d"}
	waker := tracked(t, b, topics...)
	take, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{}, len(topics))
	metrics := queue.NewMetrics(prometheus.NewRegistry(), topics)
	for _, topic := range topics {
		opts := queue.DefaultOptions()
		opts.Topic, opts.Workers = topic, 2
		c := queue.NewConsumer(opts, queue.Parts{
			Store: queue.NewStore(b.rdb, "", opts), Watch: b.watch(opts), Wakes: waker.Topic(topic), Tracking: waker.Active,
			Handler: handlerFunc(newRuns().handler(done)), Gate: newSlots(2),
			Metrics: metrics, Outages: queue.NewOutages(slog.New(slog.DiscardHandler)), Timezone: time.UTC, Log: slog.New(slog.DiscardHandler),
		})
		go func() {
			c.Run(take, take)
			ended <- struct{}{}
		}()
	}
	t.Cleanup(func() {
		stop()
		for range topics {
			<-ended
		}
	})
	wait(t.Context(), time.Second) // the start
	const seconds = 4
	before := b.commands(t)
	wait(t.Context(), seconds*time.Second)
	sent := b.commands(t) - before
	t.Logf("%d commands in %d s", sent, seconds)
	if got := float64(sent) / seconds; got > 10 {
		t.Errorf("%.1f commands a second, want at most 10", got)
	}
}

func TestAJobStartsAtOnceWhereRedisTellsOfIt(t *testing.T) {
	slow := func(o *queue.Options) { o.ScanInterval = time.Hour }
	b := newBench(t, slow)
	waker := tracked(t, b, "mail")
	r := newRuns()
	f := startWoken(t, b, slow, r.handler(done), waker.Topic("mail"), waker.Active)
	eventually(t, "a scan", func() bool { return !f.consumer.Health().LastScan.IsZero() })
	late := 0 // of ten; a busy host may hold up some
	for i := range 5 {
		began := time.Now()
		b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+100, text(fmt.Sprint("due", i)))
		eventually(t, "the due job to run", func() bool { return r.count() == 2*i+1 })
		took := time.Since(began)
		if took < 95*time.Millisecond {
			t.Errorf("the job due in 100ms ran after %s", took)
		}
		if took > time.Second {
			late++
		}
		began = time.Now()
		b.ready(t, text(fmt.Sprint("ready", i)))
		eventually(t, "the ready job to run", func() bool { return r.count() == 2*i+2 })
		if time.Since(began) > time.Second {
			late++
		}
	}
	if late > 3 {
		t.Errorf("%d of 10 jobs ran more than a second late", late)
	}
}

func TestALostWakeUpStallsNobody(t *testing.T) {
	b := newBench(t, nil)
	r := newRuns()
	// It says that Redis tells of every change, and it does not.
	startWoken(t, b, nil, r.handler(done), queue.Wakes{}, func() bool { return true })
	wait(t.Context(), 200*time.Millisecond)
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t), text("a"))
	eventually(t, "the job to run", func() bool { return r.count() == 1 })
}

func TestWritesThatConcernNobodyCostNoSpin(t *testing.T) {
	b := newBench(t, nil)
	waker := tracked(t, b, "mail")
	startWoken(t, b, nil, newRuns().handler(done), waker.Topic("mail"), waker.Active)
	later := b.nowMS(t) + 3.6e6
	before := b.commands(t)
	began := time.Now()
	pipe := b.rdb.Pipeline()
	for i := range 20000 {
		pipe.ZAdd(t.Context(), b.keys.Pool, redis.Z{Score: later + float64(i), Member: text(fmt.Sprint(i))})
		if i%1000 == 999 {
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	sent := b.commands(t) - before
	if limit := int(time.Since(began)/(2*time.Millisecond)) + 100; sent > limit {
		t.Errorf("%d commands for 20000 writes in %s, want at most one each 2ms", sent, time.Since(began))
	}
}
