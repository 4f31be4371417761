package queue

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
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

// listener hears from one server, or from whichever is the master, of changes to keys with its prefixes.
type listener struct {
	client   *redis.Client // of the commands
	commands *lastDial     // where they go; nil: always to the same server
	prefixes []string
	signals  signals
	log      *slog.Logger
	active   atomic.Bool // the server tells of every change at present

	ping, pong time.Duration
}

// run listens until ctx is done, over one connection after the other.
func (l *listener) run(ctx context.Context) {
	retry := backoff{most: wakerRetry}
	var last Fault
	for ctx.Err() == nil {
		err := l.listen(ctx)
		heard := l.active.Swap(false)
		if heard {
			retry.reset()
			last = 0
			l.signals.wake(nil)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errElsewhere) {
			continue
		}
		fault := FaultOf(err)
		if fault != last {
			l.log.Log(ctx, lossLevel(fault), "polling: redis does not tell of changes", "fault", fault.String(), "error", err)
			last = fault
		}
		if !heard && (fault == Other || fault == NoPerm) {
			pause(ctx, spread(wakerRefused))
			continue
		}
		retry.wait(ctx)
	}
}

// lossLevel is how loud the end of listening is: of an outage the commands tell, too.
func lossLevel(fault Fault) slog.Level {
	if fault.OfServer() {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// listen opens one connection and passes on what it hears, until it is lost or ctx is done.
func (l *listener) listen(ctx context.Context) error {
	here := &lastDial{}
	own := l.trackingClient(here)
	defer func() { _ = own.Close() }()
	ctx, leave := context.WithCancelCause(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer leave(nil)
	if l.commands != nil {
		following.Go(func() { l.follow(ctx, here, leave) })
	}
	hears := own.Subscribe(ctx, invalidations)
	defer context.AfterFunc(ctx, func() { _ = hears.Close() })() // a read does not end with its ctx
	defer func() { _ = hears.Close() }()

	wait, asked := l.pong, false
	for {
		heard, err := hears.ReceiveTimeout(ctx, wait)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !asked && l.active.Load():
			if err := hears.Ping(ctx); err != nil {
				return err
			}
			wait, asked = l.pong, true
			continue
		case errors.As(err, &timeout) && timeout.Timeout() && asked:
			return errors.Join(errSilent, err)
		case flushed(err):
			l.signals.wake(nil)
		case err != nil:
			return cmp.Or(elsewhere(ctx), err)
		}
		wait, asked = l.ping, false
		l.hear(ctx, heard)
	}
}

// flushed reports that Redis has said that all keys have changed (FLUSHALL, a full resynchronization), which the client
// library takes for an error. The connection stands.
func flushed(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "unsupported pubsub message payload: <nil>")
}

// hear takes one thing a connection said. Anything proves that it stands.
func (l *listener) hear(ctx context.Context, heard any) {
	switch m := heard.(type) {
	case *redis.Subscription:
		if !l.active.Swap(true) {
			l.log.InfoContext(ctx, "redis tells of changes")
			l.signals.wake(nil)
		}
	case *redis.Message:
		l.signals.wake(m.PayloadSlice)
	}
}

// trackingClient returns a client like that of the commands whose connections speak RESP2 and have Redis send changed
// keys to themselves. They are noted in here.
func (l *listener) trackingClient(here *lastDial) *redis.Client {
	opts := *l.client.Options()
	opts.Dialer = here.watch(opts.Dialer)
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
		for _, prefix := range l.prefixes {
			args = append(args, "PREFIX", prefix)
		}
		return conn.Do(ctx, args...).Err()
	}
	return redis.NewClient(&opts)
}
