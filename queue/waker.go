package queue

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
)

const (
	// invalidations is the channel Redis sends changed keys to, for connections that speak RESP2.
	invalidations = "__redis__:invalidate"

	// wakerPing is how long the connection may be silent until it is asked whether it still stands,
	// and wakerPong how long the answer may take: a firewall forgets a connection without a word.
	wakerPing = 15 * time.Second
	wakerPong = 5 * time.Second

	// wakerRetry bounds the wait before the next connection, wakerRefused the one after the server
	// has said that it does not do this: it may be another one after a failover.
	wakerRetry   = 5 * time.Second
	wakerRefused = time.Minute
)

// errSilent reports that a ping was not answered in time.
var errSilent = errors.New("ping not answered")

// Wakes are one topic's signals: something has changed in its pool, or in ready. A signal that nobody has taken
// yet stands for all that come after it.
type Wakes struct {
	Pool, Ready <-chan struct{}
}

// Waker is told by Redis of every change to any topic's pool and ready, over one connection, so that waiting
// costs nothing and ends at once (CLIENT TRACKING in broadcast mode, Redis 6). Where the server cannot do
// that, and in a Cluster, it stays silent and Active says so: poll then. Poll slowly in any
// case: a wake-up may be lost with a connection.
type Waker struct {
	rdb      redis.UniversalClient
	prefixes []string
	signals  map[string]chan struct{} // by key; not changed after NewWaker
	topics   map[string]Wakes         // likewise
	log      *slog.Logger
	active   atomic.Bool

	ping, pong time.Duration // wakerPing and wakerPong; shorter in tests
}

// NewWaker returns a Waker for the topics. prefix stands before every key. It does nothing until Run.
func NewWaker(rdb redis.UniversalClient, prefix string, topics []string, log *slog.Logger) *Waker {
	// Prefixes must not overlap, and topic names may: so it hears of all topics and picks its own.
	all := compat.NewDelayKeys(prefix, "")
	w := &Waker{
		rdb:      rdb,
		prefixes: []string{all.Pool, all.Ready},
		signals:  make(map[string]chan struct{}, 2*len(topics)),
		topics:   make(map[string]Wakes, len(topics)),
		log:      log,
		ping:     wakerPing,
		pong:     wakerPong,
	}
	for _, topic := range topics {
		keys := compat.NewDelayKeys(prefix, topic)
		pool, ready := make(chan struct{}, 1), make(chan struct{}, 1)
		w.signals[keys.Pool], w.signals[keys.Ready] = pool, ready
		w.topics[topic] = Wakes{Pool: pool, Ready: ready}
	}
	return w
}

// Topic returns the signals of one of the topics given to NewWaker.
func (w *Waker) Topic(topic string) Wakes { return w.topics[topic] }

// Active reports that Redis tells of every change at present: a scanner may sleep until the next due time.
func (w *Waker) Active() bool { return w.active.Load() }

// Run listens until ctx is done, over one connection after the other. With each that stands, and with each
// that is lost, it wakes everybody: nobody knows what was missed.
func (w *Waker) Run(ctx context.Context) {
	client, ok := w.rdb.(*redis.Client)
	if !ok { // a Cluster: each node tells of its own keys only
		w.log.InfoContext(ctx, "polling", "reason", "no tracking in a cluster")
		<-ctx.Done()
		return
	}
	retry := backoff{most: wakerRetry}
	var last Fault
	for ctx.Err() == nil {
		err := w.listen(ctx, client)
		heard := w.active.Swap(false)
		if heard {
			retry.reset()
			last = 0
			w.wake(nil)
		}
		if ctx.Err() != nil {
			return
		}
		fault := FaultOf(err)
		if fault != last {
			w.log.WarnContext(ctx, "polling: redis does not tell of changes", "fault", fault.String(), "error", err)
			last = fault
		}
		if !heard && (fault == Other || fault == NoPerm) {
			pause(ctx, spread(wakerRefused))
			continue
		}
		retry.wait(ctx)
	}
}

// listen opens one connection and passes on what it hears, until it is lost or ctx is done.
func (w *Waker) listen(ctx context.Context, client *redis.Client) error {
	own := w.trackingClient(client)
	defer func() { _ = own.Close() }()
	hears := own.Subscribe(ctx, invalidations)
	defer context.AfterFunc(ctx, func() { _ = hears.Close() })() // a read does not end with its ctx
	defer func() { _ = hears.Close() }()

	wait, asked := w.pong, false
	for {
		heard, err := hears.ReceiveTimeout(ctx, wait)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && w.Active():
			if err := hears.Ping(ctx); err != nil {
				return err
			}
			wait, asked = w.pong, true
			continue
		case errors.As(err, &timeout) && timeout.Timeout() && asked:
			return errors.Join(errSilent, err)
		case err != nil:
			return err
		}
		wait, asked = w.ping, false
		w.hear(ctx, heard)
	}
}

// hear takes one thing a connection said. Anything proves that it stands.
func (w *Waker) hear(ctx context.Context, heard any) {
	switch m := heard.(type) {
	case *redis.Subscription:
		if !w.active.Swap(true) {
			w.log.InfoContext(ctx, "redis tells of changes")
			w.wake(nil)
		}
	case *redis.Message:
		w.wake(m.PayloadSlice)
	}
}

// wake signals those whose keys have changed; all of them when keys is empty.
func (w *Waker) wake(keys []string) {
	for key, signal := range w.signals {
		if len(keys) > 0 && !slices.Contains(keys, key) {
			continue
		}
		select {
		case signal <- struct{}{}:
		default: // it has one waiting
		}
	}
}

// trackingClient returns a client like the given one whose connections speak RESP2 and have Redis send changed
// keys to themselves.
func (w *Waker) trackingClient(client *redis.Client) *redis.Client {
	opts := *client.Options()
	opts.Protocol = 2
	opts.PoolSize = 1
	opts.MinIdleConns = 0
	opts.MaxRetries = -1 // the copy has the library's spelling of it, which it would read as 3
	opts.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		id, err := conn.ClientID(ctx).Result()
		if err != nil {
			return err
		}
		args := []any{"CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST"}
		for _, prefix := range w.prefixes {
			args = append(args, "PREFIX", prefix)
		}
		return conn.Do(ctx, args...).Err()
	}
	return redis.NewClient(&opts)
}
