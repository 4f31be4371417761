package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/queue"
)

// generation is everything built from one reading of the configuration.
type generation struct {
	cfg    *config.Config
	log    *slog.Logger
	rdb    redis.UniversalClient
	waker  *queue.Waker
	pools  map[string]*openPool
	topics []*topic

	leaving chan struct{} // closed: take nothing new
	leave   func()        // closes it, once

	mu      sync.Mutex
	started bool  // guarded by mu: the consumers run
	waiting error // guarded by mu: why they do not yet
}

// topic is one topic's part of a generation.
type topic struct {
	name     string
	store    *queue.Store
	fpm      *fastcgi.Topic
	consumer *queue.Consumer
}

// newGeneration builds what cfg says and reserves what it needs, without taking a job.
func (a *app) newGeneration(ctx context.Context, cfg *config.Config) (*generation, error) {
	rdb, err := queue.Open(cfg.Redis, topicNames(cfg))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	open, err := a.pools.acquire(ctx, cfg.FPM)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	g := &generation{
		cfg:     cfg,
		log:     a.log,
		rdb:     rdb,
		waker:   queue.NewWaker(rdb, cfg.Redis.KeyPrefix, topicNames(cfg), a.log),
		pools:   open,
		leaving: make(chan struct{}),
	}
	g.leave = sync.OnceFunc(func() { close(g.leaving) })
	for _, t := range cfg.Topics {
		g.topics = append(g.topics, a.newTopic(g, t))
	}
	return g, nil
}

func (a *app) newTopic(g *generation, t config.Topic) *topic {
	store := queue.NewStore(g.rdb, g.cfg.Redis.KeyPrefix, t.Queue)
	fpm := g.pools[t.Pool].NewTopic(t.FPM)
	return &topic{
		name:  t.Name,
		store: store,
		fpm:   fpm,
		consumer: queue.NewConsumer(t.Queue, store, g.waker.Topic(t.Name), g.waker.Active,
			fpm, fpm, a.queue, g.cfg.Timezone, a.log),
	}
}

// run waits for a Redis that can serve, consumes until take is done or the generation is told to leave,
// then waits for the jobs in hand; cancelling work cuts those short.
func (g *generation) run(take, work context.Context) error {
	take, stop := context.WithCancel(take)
	var helpers sync.WaitGroup
	defer func() {
		stop()
		helpers.Wait()
		_ = g.rdb.Close()
	}()
	helpers.Go(func() {
		select {
		case <-g.leaving:
			stop()
		case <-take.Done():
		}
	})
	if err := g.awaitServer(take); err != nil || take.Err() != nil {
		return err
	}
	g.setStarted()
	notifyReady()
	helpers.Go(func() { g.waker.Run(take) })
	var consumers sync.WaitGroup
	for _, t := range g.topics {
		consumers.Go(func() { t.consumer.Run(take, work) })
	}
	consumers.Wait()
	return nil
}

// awaitServer returns when Redis was found fit. It waits out what passes (a server that is down, loading or
// busy), so that no supervisor gives the process up, and returns an error only for what does not.
func (g *generation) awaitServer(ctx context.Context) error {
	said := ""
	for wait := firstServerWait; ; wait = min(2*wait, lastServerWait) {
		warnings, err := queue.CheckServer(ctx, g.rdb, g.cfg.Redis.KeyPrefix, topicNames(g.cfg))
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			for _, w := range warnings {
				g.log.WarnContext(ctx, "redis", "warning", w)
			}
			return nil
		case errors.Is(err, queue.ErrUnsupported):
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		g.setWaiting(err)
		if text := err.Error(); text != said { // log on change, not per try
			g.log.ErrorContext(ctx, "waiting for redis", "error", err)
			said = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// How long to wait before asking an unfit Redis again, at first and at most.
const (
	firstServerWait = 100 * time.Millisecond
	lastServerWait  = 5 * time.Second
)

func (g *generation) setStarted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.waiting = true, nil
}

func (g *generation) setWaiting(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = err
}

// inHand returns how many jobs this generation holds.
func (g *generation) inHand() int {
	n := 0
	for _, t := range g.topics {
		n += t.consumer.Health().InHand
	}
	return n
}
