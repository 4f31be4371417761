package queue

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// failoverAddr is what the client library calls the address of a master that Sentinels name.
	failoverAddr = "FailoverClient"

	// masterLook is how often a listener asks which server the commands go to. After a failover the old master
	// may live on for many seconds and tell of nothing any more, while the commands have gone to the new one.
	masterLook = time.Second
)

// errElsewhere reports that the commands go to another server than the listener.
var errElsewhere = errors.New("commands go to another server")

// elsewhere returns errElsewhere if that is why ctx has ended.
func elsewhere(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errElsewhere) {
		return cause
	}
	return nil
}

// lastDial notes the address of the newest connection of a client.
type lastDial struct{ addr atomic.Value } // string

// newLastDial watches client's connections from now on; nil where all of them go to one server anyway.
func newLastDial(client *redis.Client) *lastDial {
	if client.Options().Addr != failoverAddr {
		return nil
	}
	d := &lastDial{}
	client.AddHook(d)
	return d
}

// get returns the address, "" before the first connection.
func (d *lastDial) get() string {
	addr, _ := d.addr.Load().(string)
	return addr
}

// dialer is a client's way to open a connection.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// watch returns dial with each connection noted.
func (d *lastDial) watch(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if _, failed := conn.(unreached); err == nil && !failed {
			d.addr.Store(conn.RemoteAddr().String())
		}
		return conn, err
	}
}

// DialHook notes connections.
func (d *lastDial) DialHook(next redis.DialHook) redis.DialHook { return d.watch(next) }

// ProcessHook leaves commands alone.
func (d *lastDial) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook leaves pipelines alone.
func (d *lastDial) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// follow calls leave when the commands go to another server than here, and returns then or when ctx is done.
func (l *listener) follow(ctx context.Context, here *lastDial, leave context.CancelCauseFunc) {
	tick := time.NewTicker(masterLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// An idle topic has no other command that would find out.
		if err := l.client.Ping(ctx).Err(); err != nil {
			continue
		}
		if old, master := here.get(), l.commands.get(); old != "" && old != master {
			l.log.InfoContext(ctx, "commands go to another master: listening there", "master", master)
			leave(errElsewhere)
			return
		}
	}
}
