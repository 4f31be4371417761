package queue_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sidecar/queue"
)

// How many there are, and how often each of them does it.
const (
	beatTopics   = 200
	beatSidecars = 20
	beatsEvery   = 10 * time.Second
)

// BenchmarkHeartbeats is what sidecars do every ten seconds to see each other: each op is one sidecar's heartbeat, and its look at all. It
// reports how long a heartbeat is, what the two cost Redis, and, of one sidecar, its own processor time and what it reads, by the second.
func BenchmarkHeartbeats(b *testing.B) {
	s := newBench(b, nil)
	hearts := queue.NewHeartbeats(s.rdb, "")
	beats := make([]queue.Heartbeat, beatSidecars)
	for i := range beats {
		beats[i] = busyHeartbeat(i)
		if _, err := hearts.Beat(b.Context(), beats[i]); err != nil {
			b.Fatal(err)
		}
	}
	length := len(s.rdb.HGet(b.Context(), "sidecar:alive", beats[0].Instance).Val())
	s.do(b, "CONFIG", "RESETSTAT")
	began, n := ownCPU(b), 0
	for b.Loop() {
		if _, err := hearts.Beat(b.Context(), beats[n%len(beats)]); err != nil {
			b.Fatal(err)
		}
		if all, err := hearts.All(b.Context()); err != nil || len(all) != len(beats) {
			b.Fatalf("%d heartbeats, %v", len(all), err)
		}
		n++
	}
	used := ownCPU(b) - began
	stats := s.rdb.Info(b.Context(), "commandstats").Val()
	b.ReportMetric(float64(length), "B/heartbeat")
	b.ReportMetric(usecPerCall(b, stats, "evalsha"), "µs/beat.lua")
	b.ReportMetric(usecPerCall(b, stats, "hgetall"), "µs/HGETALL")
	b.ReportMetric(float64(used.Microseconds())/float64(n)/beatsEvery.Seconds(), "µs-CPU/s")
	b.ReportMetric(float64(length*len(beats))/beatsEvery.Seconds()/1000, "KB-read/s")
}

// What 20 sidecars read of each other is to stay below 1 MB in ten seconds: a heartbeat may not grow unseen.
func TestAHeartbeatOf200TopicsStaysSmall(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(busyHeartbeat(0))
	if most := 1_000_000 / beatSidecars; err != nil || len(text) > most {
		t.Errorf("%d bytes, %v; want at most %d", len(text), err, most)
	}
}

// busyHeartbeat is that of a sidecar with as much to tell as usual at that size: all topics, some in trouble, and a hundred long runs.
func busyHeartbeat(i int) queue.Heartbeat {
	now := time.Now().UTC()
	b := queue.Heartbeat{
		Instance: fmt.Sprintf("shop-web-%02d-4711-abc%03d", i, i), Host: fmt.Sprintf("shop-web-%02d", i), PID: 4711, Version: "v1.4.0",
		InHand: 120, Memory: 40 << 20, Settings: map[string]string{}, Heads: map[string]queue.Head{},
	}
	for n := range beatTopics {
		name := fmt.Sprintf("order_timeout_%03d", n)
		b.Topics = append(b.Topics, name)
		b.Settings[name] = fmt.Sprintf("%040x", n*7919)
		b.AddLease(name, []time.Duration{30 * time.Second, 5 * time.Minute}[n%10/9])
		b.Heads[name] = queue.Head{Due: now.Add(-time.Duration(n) * time.Millisecond), Seen: now}
		b.AddRun(name, fmt.Sprintf("ord_web_d%07d", n), 1000+n, time.Duration(n+1)*time.Second)
		if n%20 == 0 {
			b.AddHolds(name, []queue.Hold{{Kind: queue.HoldRate, Reason: "50/s"}})
		}
	}
	for n := range 4 {
		b.Pools = append(b.Pools, queue.PoolReading{Name: fmt.Sprint("pool", n), Listen: "unix:///run/php/php8.2-fpm.sock", Slots: 32, Children: 32, Used: 30})
	}
	return b
}

func usecPerCall(b *testing.B, stats, command string) float64 {
	b.Helper()
	found := regexp.MustCompile(`cmdstat_` + command + `:[^\r]*usec_per_call=([0-9.]+)`).FindStringSubmatch(stats)
	if found == nil {
		b.Fatalf("no %s in %s", command, stats)
	}
	n, _ := strconv.ParseFloat(found[1], 64)
	return n
}
