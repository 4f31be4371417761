package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// neighbour is another sidecar of the shop, which has been busy in all topics for an hour: so the pages have all their charts.
const neighbour = "web2-1-abcdef"

// neighboursHour writes what the neighbour did in each minute of the last hour, which one tells of the topic at this index.
func neighboursHour(t testing.TB, rdb redis.UniversalClient, topics []string, one func(at int64, i int) queue.TopicMinute) {
	t.Helper()
	ctx := t.Context()
	beat, err := queue.NewHeartbeats(rdb, "").Beat(ctx, queue.Heartbeat{Instance: neighbour, Host: "web2", PID: 1, Version: "dev", Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	minutes := queue.NewMinutes(rdb, "")
	last := int64(beat.At.Sub(time.Unix(0, 0)) / time.Minute)
	for at := last - 60; at < last; at++ {
		minute := queue.Minute{At: at, RunBounds: runBounds, LateBounds: lateBounds, Topics: make(map[string]queue.TopicMinute)}
		for i, name := range topics {
			minute.Topics[name] = one(at, i)
		}
		if err := minutes.Put(ctx, neighbour, minute); err != nil {
			t.Fatal(err)
		}
	}
}

// history writes the neighbour's last hour.
func (s *bigShop) history(t testing.TB) {
	t.Helper()
	topics := []string{topic, bigList}
	for i := range s.topics - 2 {
		topics = append(topics, fmt.Sprintf("small_%03d", i))
	}
	neighboursHour(t, s.rdb, topics, func(at int64, i int) queue.TopicMinute {
		n := 100 + (at+int64(i))%17
		return queue.TopicMinute{
			Outcomes: map[string]int64{"done": n, "failed": n / 10, "deferred": n / 20, "rejected": n / 50}, Left: n, Dead: n / 50,
			Depths: &queue.Reading{Pool: 20 * n, Due: n, Ready: n / 2, Running: n / 10, Dead: n / 5, OldestDue: float64(n) / 7},
		}
	})
}
