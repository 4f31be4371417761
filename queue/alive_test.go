package queue_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

func TestHeartbeatsAreSeenByAllAndForgottenAfterADay(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	hearts := queue.NewHeartbeats(b.rdb, "shop:")
	want, err := hearts.Beat(t.Context(), queue.Heartbeat{
		Instance: "web1-7", Host: "web1", PID: 7, Version: "v1", Topics: []string{"mail"}, InHand: 3,
		Pools: []queue.PoolReading{{Name: "default", Slots: 4, Children: 8, Used: 2, Queue: 1}},
	})
	if err != nil || want.At.IsZero() || want.Started != want.At || !want.Anew {
		t.Fatalf("%+v, %v", want, err)
	}
	want.Anew = false // nor does Redis keep it
	day := want.At.Add(-25 * time.Hour).Format(time.RFC3339)
	b.do(t, "HSET", "shop:sidecar:alive", "old", fmt.Sprintf(`{"at":%q}`, day), "young", fmt.Sprintf(`{"at":%q,"host":"a"}`, want.At.Add(-time.Hour).Format(time.RFC3339)))
	all, err := queue.NewHeartbeats(b.rdb, "shop:").All(t.Context())
	if err != nil || len(all) != 2 || all[0].Instance != "young" || !reflect.DeepEqual(all[1], want) {
		t.Errorf("got %+v, %v; want young and %+v", all, err, want)
	}
	if n := b.do(t, "HLEN", "shop:sidecar:alive"); n != int64(2) {
		t.Errorf("%v fields are left, want 2", n)
	}
	again := want
	again.Stopped = true
	if again, err = hearts.Beat(t.Context(), again); err != nil || again.Started != want.Started || again.Anew {
		t.Errorf("%+v, %v: want to have started when it did", again, err)
	}
}

func TestAHeartbeatTellsOfTheLongestRuns(t *testing.T) {
	t.Parallel()
	var b queue.Heartbeat
	for i := range 150 {
		b.AddRun("mail", fmt.Sprint("u", i), i, time.Duration(i*37%150)*time.Second)
	}
	b.AddRun("mail", "", 0, time.Hour)
	b.AddRun("mail", "short", 0, time.Second-1)
	if len(b.Runs) != 100 || b.Runs[0].For != 149 || b.Runs[99].For != 50 {
		t.Errorf("%d runs: %+v", len(b.Runs), b.Runs)
	}
	b.At = time.Unix(1000, 0).UTC()
	run, since, found := b.RunOf("mail", b.Runs[0].UUID)
	if !found || run != b.Runs[0] || !since.Equal(b.At.Add(-149*time.Second)) {
		t.Errorf("got %+v since %s", run, since)
	}
	if _, _, found := b.RunOf("sms", b.Runs[0].UUID); found {
		t.Error("another topic's run is taken for it")
	}
}

func TestAHeartbeatTellsOfSoManyHoldsAndOfBreakersFirst(t *testing.T) {
	t.Parallel()
	var b queue.Heartbeat
	at := time.Unix(1000, 0).UTC()
	rate, trip := queue.Hold{Kind: queue.HoldRate, Reason: "50/h"}, queue.Hold{Kind: queue.HoldBreaker, Since: at, Reason: "20 runs"}
	b.AddHolds("paused", []queue.Hold{{Kind: queue.HoldManual}, {Kind: queue.HoldWindow}})
	for i := range 150 {
		b.AddHolds(fmt.Sprint("slow", i), []queue.Hold{rate})
	}
	for i := range 150 {
		b.AddHolds(fmt.Sprint("broken", i), []queue.Hold{trip})
	}
	if len(b.Holds) != 100 || b.Holds[0] != (queue.HeldTopic{Topic: "broken0", Hold: trip}) || b.Holds[99].Kind != queue.HoldBreaker {
		t.Errorf("%d holds: %+v", len(b.Holds), b.Holds)
	}
	bench := newBench(t, nil)
	hearts := queue.NewHeartbeats(bench.rdb, "")
	b.Instance, b.Holds = "a", b.Holds[:1]
	if _, err := hearts.Beat(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if all, err := hearts.All(t.Context()); err != nil || len(all) != 1 || !reflect.DeepEqual(all[0].Holds, b.Holds) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAHashThatHoldsNoHeartbeatsIsNotReadWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.do(t, "EVAL", `for i = 1, 1001 do redis.call('HSET', KEYS[1], i, '{}') end`, 1, "sidecar:alive")
	_, err := queue.NewHeartbeats(b.rdb, "").All(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1001 fields, want at most 1000") {
		t.Errorf("%v", err)
	}
}

func TestMinutesOfASidecarAreKeptForAnHour(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	minutes := queue.NewMinutes(b.rdb, "shop:")
	const first = 29_000_000
	var wanted []int64
	for i := range int64(70) {
		minute := queue.Minute{At: first + i, Topics: map[string]queue.TopicMinute{"mail": {Left: i, Run: []int64{1, 2}, Depths: &queue.Reading{Pool: i}}}}
		if err := minutes.Put(t.Context(), "web1-7", minute); err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, first+i)
	}
	found, err := minutes.Of(t.Context(), "web1-7", wanted)
	if err != nil || len(found) != 60 || found[0].At != first+10 || found[59].Topics["mail"].Depths.Pool != 69 {
		t.Errorf("%d minutes, %v; want the last 60", len(found), err)
	}
	if n := b.do(t, "HLEN", "shop:sidecar:minutes:web1-7"); n != int64(60) {
		t.Errorf("%v fields, want 60", n)
	}
	if ttl := b.do(t, "TTL", "shop:sidecar:minutes:web1-7").(int64); ttl < 7000 || ttl > 7200 {
		t.Errorf("it ends in %d s, want 2 h", ttl)
	}
	if found, err := minutes.Of(t.Context(), "nobody", wanted); err != nil || len(found) != 0 {
		t.Errorf("of nobody: %v, %v", found, err)
	}
}

// A full Redis refuses what takes memory: of all times it must be known then that the sidecars live.
func TestAHeartbeatReachesAFullRedisAndSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	hearts := queue.NewHeartbeats(b.rdb, "")
	if got, err := hearts.Beat(t.Context(), queue.Heartbeat{Instance: "a"}); err != nil || got.Full {
		t.Fatalf("full: %t, %v", got.Full, err)
	}
	b.do(t, "CONFIG", "SET", "maxmemory", "1mb")
	if err := b.rdb.Set(t.Context(), "x", "y", 0).Err(); queue.FaultOf(err) != queue.OOM {
		t.Fatalf("a write meets %v, want it refused", err)
	}
	for _, instance := range []string{"a", "b"} {
		if got, err := hearts.Beat(t.Context(), queue.Heartbeat{Instance: instance, PID: 7}); err != nil || !got.Full || got.Anew != (instance == "b") {
			t.Errorf("%s: full: %t, anew: %t, %v", instance, got.Full, got.Anew, err)
		}
	}
	if all, err := hearts.All(t.Context()); err != nil || len(all) != 2 || all[0].PID != 7 {
		t.Errorf("%+v, %v", all, err)
	}
	b.do(t, "CONFIG", "SET", "maxmemory", "0")
	if got, err := hearts.Beat(t.Context(), queue.Heartbeat{Instance: "a"}); err != nil || got.Full {
		t.Errorf("with room again: full: %t, %v", got.Full, err)
	}
}
