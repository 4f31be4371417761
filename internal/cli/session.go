package cli

import (
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/queue"
)

// redisPatience bounds a verb that asks Redis a few questions.
const redisPatience = 15 * time.Second

// session is what a verb that works on one topic has at hand.
type session struct {
	cfg   *config.Config
	topic config.Topic
	store *queue.Store
}

// jobOf reads text as a job of the topic's profile.
func jobOf(topic config.Topic, text string) (compat.Job, error) {
	if topic.Queue.List != nil {
		return compat.ParseListJob(text)
	}
	return compat.ParseJob(text)
}

// withStore opens the store of the topic named first in c.args and calls f with it.
func withStore(env Env, c call, f func(context.Context, session) int) int {
	cfg, topic, code := loadTopic(env, c)
	if cfg == nil {
		return code
	}
	return withRedis(env, cfg, []queue.Options{topic.Queue}, func(ctx context.Context, rdb redis.UniversalClient) int {
		return f(ctx, session{cfg, topic, queue.NewStore(rdb, cfg.Redis.KeyPrefix, topic.Queue)})
	})
}

// withRedis opens Redis for the topics and calls f with it, under a context that ends when patience does.
func withRedis(env Env, cfg *config.Config, topics []queue.Options, f func(context.Context, redis.UniversalClient) int) int {
	return openRedis(env, cfg, topics, func(rdb redis.UniversalClient) int {
		ctx, cancel := context.WithTimeout(context.Background(), redisPatience)
		defer cancel()
		return f(ctx, rdb)
	})
}

// openUntilSignal opens Redis for the topics and calls f with it, which may take as long as nobody asks it to end.
func openUntilSignal(env Env, cfg *config.Config, topics []queue.Options, f func(context.Context, redis.UniversalClient) int) int {
	return openRedis(env, cfg, topics, func(rdb redis.UniversalClient) int {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return f(ctx, rdb)
	})
}

// openRedis opens Redis for the topics and calls f with it, which may take as long as it likes.
func openRedis(env Env, cfg *config.Config, topics []queue.Options, f func(redis.UniversalClient) int) int {
	rdb, err := queue.Open(cfg.Redis, topics)
	if err != nil {
		return report(env, exitRefused, err)
	}
	defer rdb.Close()
	return f(rdb)
}
