package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/internal/spool"
	"sidecar/queue"
)

// generation is everything built from one reading of the configuration.
type generation struct {
	cfg     *config.Config
	sums    map[string]string // of the topics' options, by topic; not changed any more
	log     *slog.Logger
	rdb     redis.UniversalClient
	eyes    redis.UniversalClient // the watchdogs' own: what hangs on rdb's connections must not blind them
	servers *queue.Servers        // over eyes, too
	waker   *queue.Waker
	outages *queue.Outages
	pools   map[string]*openPool
	topics  []*topic
	pauses  *queue.PauseWatch
	spools  []*spool.Runner

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
	watch    *queue.Store // over eyes
	fpm      *fastcgi.Topic
	consumer *queue.Consumer

	mu      sync.Mutex
	waiting error // guarded by mu: why it does not run yet
}

func (t *topic) setWaiting(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = err
}

func (t *topic) notWaiting() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}

// newGeneration builds what cfg says and prepares what it needs, without taking a job.
func (a *app) newGeneration(ctx context.Context, cfg *config.Config) (*generation, error) {
	rdb, err := queue.Open(cfg.Redis, cfg.Queues())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	eyes, err := queue.OpenWatch(cfg.Redis, cfg.Queues())
	if err != nil {
		_ = rdb.Close()
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	a.queue.Watch(rdb)
	a.queue.Watch(eyes)
	g := &generation{
		cfg:     cfg,
		sums:    make(map[string]string, len(cfg.Topics)),
		log:     a.log,
		rdb:     rdb,
		eyes:    eyes,
		servers: queue.NewServers(eyes, cfg.Redis),
		waker:   queue.NewWaker(rdb, cfg.Redis.KeyPrefix, cfg.Queues(), a.log),
		outages: queue.NewOutages(a.log),
		pools:   a.pools.acquire(cfg.FPM),
		leaving: make(chan struct{}),
	}
	g.leave = sync.OnceFunc(func() { close(g.leaving) })
	for _, t := range cfg.Topics {
		g.sums[t.Name] = cfg.Sums(t)
		g.topics = append(g.topics, a.newTopic(g, t))
	}
	g.pauses = g.newPauseWatch()
	g.spools = a.newSpools(g)
	if err := a.pools.start(ctx, g.pools, cfg.FPM); err != nil {
		a.retire(g)
		return nil, err
	}
	if old := a.generation(); old != nil {
		g.follow(old)
	}
	return g, nil
}

// follow has the topics that old has, too, go on where they leave off there.
func (g *generation) follow(old *generation) {
	if !sameRedis(old.cfg.Redis, g.cfg.Redis) {
		return // the same names are other keys
	}
	for i, t := range g.topics {
		for j, before := range old.topics {
			if sameKeys(old.cfg.Topics[j], g.cfg.Topics[i]) {
				t.consumer.Follow(before.consumer)
			}
		}
	}
}

// sameKeys reports that two topics of the same Redis hold their claims in the same key.
func sameKeys(a, b config.Topic) bool {
	if a.Queue.List == nil || b.Queue.List == nil {
		return a.Queue.List == nil && b.Queue.List == nil && a.Name == b.Name
	}
	return a.Queue.List.Key == b.Queue.List.Key
}

// sameRedis reports that both lead to the same keys, as far as that can be told: passwords may have changed.
func sameRedis(a, b queue.RedisOptions) bool {
	for _, o := range []*queue.RedisOptions{&a, &b} {
		o.Password, o.SentinelPassword = "", ""
	}
	return reflect.DeepEqual(a, b)
}

// retire gives up what the generation has. None of its topics runs any more.
func (a *app) retire(g *generation) {
	a.mu.Lock()
	a.live = slices.DeleteFunc(a.live, func(have *generation) bool { return have == g })
	a.mu.Unlock()
	for _, t := range g.topics {
		t.fpm.Remove()
		a.series.leave(t.name)
	}
	a.retireSpools(g)
	a.pools.release(g.pools)
	_ = g.rdb.Close()
	if g != a.generation() { // the last one's eyes stay open until the sidecar has said goodbye
		_ = g.eyes.Close()
	}
}

func (a *app) newTopic(g *generation, t config.Topic) *topic {
	store := queue.NewStore(g.rdb, g.cfg.Redis.KeyPrefix, t.Queue)
	watch := queue.NewStore(g.eyes, g.cfg.Redis.KeyPrefix, t.Queue)
	fpm := g.pools[t.Pool].NewTopic(t.FPM)
	a.series.add(t.Name)
	return &topic{
		name:  t.Name,
		store: store,
		watch: watch,
		fpm:   fpm,
		consumer: queue.NewConsumer(t.Queue, queue.Parts{
			Store: store, Watch: watch, Wakes: g.waker.Topic(t.Name), Tracking: g.waker.Active, Handler: fpm, Gate: fpm,
			Metrics: a.queue, Incidents: a.incidents, Outages: g.outages, Tracer: a.tracer, Timezone: g.cfg.Timezone, Log: a.log,
		}),
	}
}

// run waits for a Redis that can serve, consumes until take is done or the generation is told to leave,
// then waits for the jobs in hand; cancelling work cuts those short.
func (g *generation) run(take, work context.Context) error {
	take, stop := context.WithCancel(take)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() {
		select {
		case <-g.leaving:
			stop()
		case <-take.Done():
		}
		g.drain()
	})
	if err := g.awaitServer(take); err != nil || take.Err() != nil {
		return err
	}
	if !g.awaitPauses(take) {
		return nil
	}
	g.setStarted()
	notifyReady()
	helpers.Go(func() { g.waker.Run(take) })
	helpers.Go(func() { g.pauses.Run(take) })
	for _, s := range g.spools {
		helpers.Go(func() { s.Run(take) })
	}
	var topics sync.WaitGroup
	for _, t := range g.topics {
		topics.Go(func() { g.runTopic(take, work, t) })
	}
	topics.Wait()
	return nil
}

// runTopic consumes one topic, once this user may do with its keys all that it takes: a job that can be claimed
// and not be settled is better left alone. The other topics go on.
func (g *generation) runTopic(take, work context.Context, t *topic) {
	if !g.await(take, "the topic's keys", func() error { return t.store.Check(take) }, t.setWaiting) {
		return
	}
	t.consumer.Run(take, work)
}

// awaitServer returns when Redis was found fit. It waits out what passes (a server that is down, loading or
// busy), so that no supervisor gives the process up, and returns an error only for what does not.
func (g *generation) awaitServer(ctx context.Context) error {
	var refused error
	g.await(ctx, "redis", func() error {
		warnings, err := queue.CheckServer(ctx, g.rdb, g.cfg.Redis.KeyPrefix, g.cfg.Queues())
		if errors.Is(err, queue.ErrNoScripting) || errors.Is(err, queue.ErrTooOld) {
			refused = fmt.Errorf("%w: %w", ErrRefused, err)
			return nil
		}
		for _, w := range warnings {
			g.log.WarnContext(ctx, "redis", "warning", w)
		}
		return err
	}, g.setWaiting)
	return refused
}

// ownPort is our end of a connection in an error of net, another one with every try.
var ownPort = regexp.MustCompile(`\S+->`)

// await asks until ready returns nil, and reports false when ctx ends first. It logs on change, not per try.
func (g *generation) await(ctx context.Context, what string, ready func() error, note func(error)) bool {
	said := ""
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, lastWait) {
		err := ready()
		note(err)
		if err == nil {
			return true
		}
		if text := ownPort.ReplaceAllString(err.Error(), ""); text != said && ctx.Err() == nil {
			g.log.ErrorContext(ctx, "waiting", "for", what, "error", err)
			said = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)): // not all topics in step: they may have one connection between them
		}
	}
	return false
}

// How long to wait before asking an unfit Redis again, at first and at most, ± 50 %.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

func (g *generation) setStarted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started = true
}

func (g *generation) setWaiting(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = err
}

// drain gives back what was claimed ahead and no worker has begun: nothing new is to start.
func (g *generation) drain() {
	for _, t := range g.topics {
		t.fpm.Drain()
	}
}

// renew replaces every resident worker between two of its jobs.
func (g *generation) renew() {
	for _, t := range g.topics {
		t.fpm.Renew()
	}
}

// inHand returns how many jobs this generation holds.
func (g *generation) inHand() int {
	n := 0
	for _, t := range g.topics {
		n += t.consumer.Health().InHand
	}
	return n
}
