package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/queue"
)

const (
	// keepersMost bounds the sidecars whose minutes are read, the ones heard of last: an hour of one with 200 topics is some 4 MB.
	keepersMost = 20
	// cutShortWarn is how many runs of a topic must have been cut short within the hour to be more than a note: one may be
	// a reload of PHP-FPM.
	cutShortWarn = 3
)

// CutShort is how many runs of a topic ended without a word of their own within an hour.
type CutShort struct {
	Crashed, TimedOut int64
}

// cutShort sums up, by topic, what the sidecars' minutes say of such runs. The minute under way is in none of them yet.
func (q *inquirer) cutShort(ctx context.Context, rdb redis.UniversalClient, r *Redis) {
	minutes, now := queue.NewMinutes(rdb, q.cfg.Redis.KeyPrefix), queue.MinuteAt(r.Now)
	var hour []int64
	for at := now - queue.MinutesKept + 1; at < now; at++ {
		hour = append(hour, at)
	}
	r.CutShort = make(map[string]CutShort)
	for _, instance := range keepers(*r) {
		found, err := minutes.Of(ctx, instance, hour)
		for _, minute := range found {
			for topic, m := range minute.Topics {
				sum := r.CutShort[topic]
				sum.Crashed += m.Outcomes[compat.Crashed.String()]
				sum.TimedOut += m.Outcomes[compat.TimedOut.String()]
				r.CutShort[topic] = sum
			}
		}
		if !q.note("redis", "HMGET on sidecar:minutes", err) {
			return
		}
	}
}

// keepers are the sidecars that may have kept minutes of the last hour.
func keepers(r Redis) (instances []string) {
	if r.unheard() {
		return nil
	}
	beats := slices.DeleteFunc(slices.Clone(r.Sidecars), func(b queue.Heartbeat) bool { return r.Now.Sub(b.At) > time.Hour })
	slices.SortStableFunc(beats, func(a, b queue.Heartbeat) int { return b.At.Compare(a.At) })
	for _, b := range beats[:min(keepersMost, len(beats))] {
		instances = append(instances, b.Instance)
	}
	return instances
}

// checkCutShort tells of a topic's runs that crashed or timed out: before their jobs are dead nothing else does.
func checkCutShort(all *findings, f Facts, where string, t TopicKeys) {
	sum := f.Redis.CutShort[t.Topic.Name]
	var what, do []string
	if sum.Crashed > 0 {
		what = append(what, plural.Of(sum.Crashed, "run", "runs")+" crashed")
		do = append(do, fmt.Sprintf("crashes: PHP-FPM's log of pool %q says how its worker ended: memory_limit, a segfault (SIGSEGV), request_terminate_timeout, a kill for want of memory", t.Topic.Pool))
	}
	if sum.TimedOut > 0 {
		what = append(what, plural.Of(sum.TimedOut, "run", "runs")+" timed out")
		do = append(do, fmt.Sprintf("timeouts: sidecar peek %s --running shows what runs and since when; find out what it waits for, or raise timeout", t.Topic.Name))
	}
	if len(what) == 0 {
		return
	}
	found := all.say("runs-cut-short", where, "within an hour %s", strings.Join(what, " and "))
	found.do("%s. The sidecar's log has uuids (run was cut short), and sidecar find UUID says what becomes of one", strings.Join(do, "; "))
	if sum.Crashed+sum.TimedOut < cutShortWarn {
		found.as(Note)
	}
}
