package queue

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

// Wakes are one topic's signals: something has changed in its pool, or in ready. A signal that nobody has taken
// yet stands for all that come after it.
type Wakes struct {
	Pool, Ready <-chan struct{}
}

// Waker is told by Redis of every change to any topic's pool and ready, over one connection a server, so that waiting
// costs nothing and ends at once (CLIENT TRACKING in broadcast mode, Redis 6). Where a server cannot do that it stays
// silent and Active says so: poll then. Poll slowly in any case: a wake-up may be lost with a connection.
type Waker struct {
	rdb      redis.UniversalClient
	pools    []string // the key of each topic's pool
	prefixes []string
	signals  signals
	topics   map[string]Wakes // not changed after NewWaker
	log      *slog.Logger

	commands  *lastDial                   // nil unless Sentinels name the master
	listening atomic.Pointer[[]*listener] // those who hear of all topics together; nil before Run

	ping, pong time.Duration // wakerPing and wakerPong; shorter in tests
}

// NewWaker returns a Waker for the topics. prefix stands before every key. It does nothing until Run.
func NewWaker(rdb redis.UniversalClient, prefix string, topics []Options, log *slog.Logger) *Waker {
	w := &Waker{
		rdb:      rdb,
		prefixes: watched(prefix, topics),
		signals:  make(signals, 2*len(topics)),
		topics:   make(map[string]Wakes, len(topics)),
		log:      log,
		ping:     wakerPing,
		pong:     wakerPong,
	}
	if client, ok := rdb.(*redis.Client); ok {
		w.commands = newLastDial(client)
	}
	for _, topic := range topics {
		keys := keysOf(prefix, topic)
		pool, ready := make(chan struct{}, 1), make(chan struct{}, 1)
		w.signals[keys.pool] = pool
		for _, key := range keys.ready {
			w.signals[key] = ready
		}
		w.topics[topic.Topic] = Wakes{Pool: pool, Ready: ready}
		w.pools = append(w.pools, keys.pool)
	}
	return w
}

// watched returns the prefixes of the keys to hear of. Prefixes must not overlap, and names of topics and lists may: so
// it hears of all topics and picks its own, and of two lists of which one's name begins with the other's the shorter
// stands for both.
func watched(prefix string, topics []Options) []string {
	var all []string
	for _, topic := range topics {
		if l := topic.List; l != nil {
			all = append(all, prefix+l.Key, compat.NewListKeys(prefix, "", "", 0).Pool)
			continue
		}
		keys := compat.NewDelayKeys(prefix, "")
		all = append(all, keys.Pool, keys.Ready)
	}
	slices.Sort(all)
	kept := all[:0]
	for _, p := range all { // those that begin with another one come right behind it
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// Topic returns the signals of one of the topics given to NewWaker.
func (w *Waker) Topic(topic string) Wakes { return w.topics[topic] }

// Active reports that Redis tells of every change at present: a scanner may sleep until the next due time.
func (w *Waker) Active() bool {
	all := w.listening.Load()
	return all != nil && !slices.ContainsFunc(*all, func(l *listener) bool { return !l.active.Load() })
}

// Run listens until ctx is done, over one connection after the other. With each that stands, and with each
// that is lost, it wakes everybody: nobody knows what was missed.
func (w *Waker) Run(ctx context.Context) {
	switch rdb := w.rdb.(type) {
	case *redis.Client:
		l := w.listener(rdb)
		w.listening.Store(&[]*listener{l})
		l.run(ctx)
	case *redis.ClusterClient:
		w.runInCluster(ctx, rdb)
	default:
		<-ctx.Done()
	}
}

// listener returns what listens at one server.
func (w *Waker) listener(client *redis.Client) *listener {
	return &listener{
		client: client, commands: w.commands, prefixes: w.prefixes, signals: w.signals,
		log: w.log, ping: w.ping, pong: w.pong,
	}
}

// signals are the channels that wake, by key. They are not changed once they are in use.
type signals map[string]chan struct{}

// wake signals those whose keys have changed; all of them when keys is empty.
func (s signals) wake(keys []string) {
	for key, signal := range s {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		select {
		case signal <- struct{}{}:
		default: // it has one waiting
		}
	}
}
