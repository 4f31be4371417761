package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/plural"
	"sidecar/queue"
)

func requeueVerb() verb {
	return verb{
		name:  "requeue",
		usage: "TOPIC UUID…",
		short: "run waiting jobs now, whatever time they wait for",
		long: `
Makes the jobs with these uuids (in a list job_ids), which wait in the pool for their time or their retry, due now: they run as soon as a worker is free. Nothing
else of them changes. A job that is due or ready already is left as it is. Exit code 1 when one runs, is dead (sidecar dead
replay is for those), or is nowhere.`,
		run: requeue,
	}
}

func requeue(env Env, c call) int {
	if len(c.args) < 2 {
		return usageError(env, requeueVerb(), "want a topic and at least one uuid, got %s", given(c.args))
	}
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return openUntilSignal(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		s := session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)}
		audit := queue.NewAudit(rdb, cfg.Redis.KeyPrefix)
		code := exitOK
		for _, uuid := range c.args[1:] {
			said, changed, err := s.runNow(ctx, newProgress(env), uuid)
			if err != nil {
				code = report(env, exitFailed, fmt.Errorf("%s: %w", compat.PlainUUID(uuid), err))
				continue
			}
			fmt.Fprintf(env.Stdout, "%s %s\n", compat.PlainUUID(uuid), said)
			if !changed {
				continue
			}
			addLine(ctx, env, audit, queue.Audited{Verb: queue.VerbRequeue, Topic: topic.Name, Count: 1, UUID: compat.PlainUUID(uuid)})
		}
		return code
	})
}

// runNow makes the job due, wherever it waits, and says what became of it.
func (s session) runNow(ctx context.Context, progress *progress, uuid string) (said string, changed bool, err error) {
	defer progress.done()
	search, err := s.store.NewSearch(queue.Query{UUID: uuid}, s.cfg.Timezone)
	if err != nil {
		return "", false, err
	}
	elsewhere := errors.New("it is nowhere in this topic; sidecar find looks in all of them")
	for cursor := ""; ; {
		found, err := search.Next(ctx, cursor)
		if err != nil {
			return "", false, err
		}
		for _, e := range found.Entries {
			switch changed, err := s.store.RunNow(ctx, e); {
			case err != nil:
				elsewhere = err
			case changed:
				return "is due now", true, nil
			default:
				return "was due already", false, nil
			}
		}
		progress.tell("looked at %d of %s", found.Looked, plural.Of(found.Of, "text", "texts"))
		if cursor = found.Cursor; cursor == "" {
			return "", false, elsewhere
		}
	}
}
