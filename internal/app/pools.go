package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"sidecar/fastcgi"
)

// pools are the FPM pools in use. A pool whose settings stay the same outlives a reload, so that its slots
// are counted once although two generations use it.
type pools struct {
	metrics *fastcgi.Metrics
	log     *slog.Logger
	wg      sync.WaitGroup // their Run

	mu   sync.Mutex
	open map[fastcgi.PoolOptions]*openPool // guarded by mu
}

// openPool is a running pool and how many generations use it.
type openPool struct {
	*fastcgi.Pool
	users int // guarded by pools.mu
	stop  context.CancelFunc
}

func newPools(m *fastcgi.Metrics, log *slog.Logger) *pools {
	return &pools{metrics: m, log: log, open: make(map[fastcgi.PoolOptions]*openPool)}
}

// acquire returns a running pool for each of opts: those that are open already, and new ones. Give them back
// with release. When one cannot be prepared nothing has changed.
func (p *pools) acquire(ctx context.Context, opts map[string]fastcgi.PoolOptions) (map[string]*openPool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := make(map[string]*openPool, len(opts))
	var errs []error
	for name, o := range opts {
		op := p.open[o]
		if op == nil {
			var err error
			if op, err = p.start(ctx, o); err != nil {
				errs = append(errs, fmt.Errorf("pool %q: %w", name, err))
				continue
			}
		}
		op.users++
		got[name] = op
	}
	if len(errs) > 0 {
		p.drop(got)
		return nil, errors.Join(errs...)
	}
	return got, nil
}

// start prepares and runs a new pool. Callers hold p.mu.
func (p *pools) start(ctx context.Context, o fastcgi.PoolOptions) (*openPool, error) {
	pool := fastcgi.NewPool(o, p.log, p.metrics)
	if err := pool.Prepare(); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	op := &openPool{Pool: pool, stop: stop}
	p.wg.Go(func() { pool.Run(run) })
	p.open[o] = op
	return op, nil
}

// release gives back what acquire returned. A pool that nobody uses any more is stopped.
func (p *pools) release(got map[string]*openPool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(got)
}

// drop is release for callers that hold p.mu.
func (p *pools) drop(got map[string]*openPool) {
	for _, op := range got {
		if op.users--; op.users > 0 {
			continue
		}
		op.stop()
		for o, have := range p.open {
			if have == op {
				delete(p.open, o)
			}
		}
	}
}

// wait returns when every released pool has come to rest.
func (p *pools) wait() { p.wg.Wait() }
