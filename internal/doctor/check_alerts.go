package doctor

import (
	"context"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/alert"
	"sidecar/internal/plural"
	"sidecar/queue"
)

// targets asks how the targets of alarms fare, where there are any.
func (q *inquirer) targets(ctx context.Context, rdb redis.UniversalClient, r *Redis) {
	if len(q.cfg.Alert.Targets) == 0 {
		return
	}
	o, err := alert.Look(ctx, queue.NewAlerts(rdb, q.cfg.Redis.KeyPrefix))
	if q.note("redis", "TIME or HGETALL on sidecar:alert:*", err) {
		r.Targets = o.Targets
	}
}

// failuresMost is how often in a row a target may fail: a receiver that is restarted is no finding.
const failuresMost = 2

// checkAlerts is about who is told of alarms, or would be.
func checkAlerts(all *findings, f Facts) {
	for _, t := range f.Config.Alert.Targets {
		if s := f.Redis.Targets[t.Name]; s.Failures > failuresMost {
			all.say("alert-target", "alert target "+t.Name, "%s in a row failed: %s", plural.Of(s.Failures, "message", "messages"), s.Error).
				do("mend it, then: sidecar alert test %s", t.Name)
		}
	}
}
