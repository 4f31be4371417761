package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// requeueWaiting requeues the jobs of a pool that the flags choose by their scores.
func requeueWaiting(env Env, c call, f *requeueFlags) int {
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return openUntilSignal(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		s := session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)}
		waiting, from, err := f.source(ctx, rdb, s)
		if errors.As(err, new(filterError)) {
			return usageError(env, requeueVerb(), "%v", err)
		}
		if err != nil {
			return report(env, exitFailed, err)
		}
		m := newMover(env, rdb, s, from, moveOptions{
			verb: queue.VerbRequeue, requeue: queue.RequeueOptions{ScoresIn: queue.ScoreUnit(f.scoresIn)}, limit: f.limit, pace: f.rate, undoDir: f.undoDir,
		})
		all, err := waiting.Count(ctx)
		if err == nil && f.dryRun {
			err = m.count(ctx, true)
		}
		if err != nil {
			return report(env, exitFailed, err)
		}
		if f.limit > 0 && int(all) > f.limit {
			fmt.Fprintf(env.Stderr, "%s of this kind; --limit says how many of them, 0 = all\n", plural.Of(all, "job waits", "jobs wait"))
		}
		if f.dryRun {
			return exitOK
		}
		m.total = int(all)
		if f.limit > 0 {
			m.total = min(m.total, f.limit)
		}
		return m.finish(ctx, m.run(ctx))
	})
}

// source finds the jobs that the flags choose. A filterError is about the flags.
func (f *requeueFlags) source(ctx context.Context, rdb redis.UniversalClient, s session) (*queue.Waiting, source, error) {
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return nil, source{}, fmt.Errorf("ask Redis for the time: %w", err)
	}
	after, err := comingMoment("due-after", f.dueAfter, now, s.cfg.Timezone)
	if err != nil {
		return nil, source{}, filterError{err}
	}
	before, err := comingMoment("due-before", f.dueBefore, now, s.cfg.Timezone)
	if err != nil {
		return nil, source{}, filterError{err}
	}
	waiting, err := s.store.NewWaiting(queue.WaitingQuery{Now: now, After: after, Before: before, ScoresIn: queue.ScoreUnit(f.scoresIn)})
	if err != nil {
		return nil, source{}, filterError{fmt.Errorf("--scores-in %q: %w", f.scoresIn, err)}
	}
	return waiting, source{found: waiting.All, one: "waiting job", many: "waiting jobs", filter: f.text(), now: now}, nil
}

// text is what was asked for as the audit trail shows it.
func (f *requeueFlags) text() string {
	var parts []string
	for _, part := range []struct{ name, value string }{{"due-after", f.dueAfter}, {"due-before", f.dueBefore}, {"scores-in", f.scoresIn}} {
		if part.value != "" {
			parts = append(parts, fmt.Sprintf("--%s %q", part.name, part.value))
		}
	}
	return strings.Join(parts, " ")
}
