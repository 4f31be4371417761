package cli

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/config"
	"sidecar/queue"
)

// flow is how many jobs of a topic came and went in the last full minute that sidecars wrote down.
type flow struct{ in, out int64 }

// flows reads that for all topics. What nobody has written down, or may not be read, is missing.
type flows struct {
	beats   *queue.Heartbeats
	minutes *queue.Minutes
	rdb     redis.UniversalClient
}

func newFlows(cfg *config.Config, rdb redis.UniversalClient) *flows {
	prefix := cfg.Redis.KeyPrefix
	return &flows{queue.NewHeartbeats(rdb, prefix), queue.NewMinutes(rdb, prefix), rdb}
}

// flowPatience bounds what is only an extra.
const flowPatience = 2 * time.Second

func (f *flows) look(ctx context.Context) map[string]flow {
	ctx, cancel := context.WithTimeout(ctx, flowPatience)
	defer cancel()
	beats, err := f.beats.All(ctx)
	if err != nil {
		return nil
	}
	last := lastMinute(beats) - 1 // a sidecar may still be about to write down the one that has just ended
	out, waiting, before := make(map[string]int64), make(map[string]int64), make(map[string]int64)
	for _, b := range beats {
		minutes, err := f.minutes.Of(ctx, b.Instance, []int64{last - 1, last})
		if err != nil {
			return nil
		}
		for _, m := range minutes {
			for topic, t := range m.Topics {
				if m.At == last {
					out[topic] += t.Left
				}
				if t.Depths != nil { // all see the same keys
					at := map[bool]map[string]int64{true: waiting, false: before}[m.At == last]
					at[topic] = t.Depths.Pool + t.Depths.Ready + t.Depths.Running
				}
			}
		}
	}
	found := make(map[string]flow)
	for topic, now := range waiting {
		if was, known := before[topic]; known {
			found[topic] = flow{in: max(0, out[topic]+now-was), out: out[topic]}
		}
	}
	return found
}

// lastMinute is the last full minute by Redis's clock, as the sidecar tells that was heard last.
func lastMinute(beats []queue.Heartbeat) int64 {
	if len(beats) == 0 {
		return 0
	}
	at := slices.MaxFunc(beats, func(a, b queue.Heartbeat) int { return a.At.Compare(b.At) }).At
	return queue.MinuteAt(at) - 1
}
