package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
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

// openPool is a pool and how many generations use it.
type openPool struct {
	*fastcgi.Pool
	users int                // guarded by pools.mu
	stop  context.CancelFunc // guarded by pools.mu; nil until it runs
}

func newPools(m *fastcgi.Metrics, log *slog.Logger) *pools {
	return &pools{metrics: m, log: log, open: make(map[fastcgi.PoolOptions]*openPool)}
}

// acquire returns a pool for each of opts, by name: those that are open already, and new ones. Give them back with
// release. New ones do nothing before start, which is to be called when their topics are made.
func (p *pools) acquire(opts map[string]fastcgi.PoolOptions) map[string]*openPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := make(map[string]*openPool, len(opts))
	for name, o := range opts {
		op := p.open[o]
		if op == nil {
			op = &openPool{Pool: fastcgi.NewPool(o, p.log, p.metrics)}
			p.open[o] = op
		}
		op.users++
		got[name] = op
	}
	return got
}

// start prepares what PHP-FPM needs and runs the pools that do not run yet. They outlive ctx, as their jobs do.
func (p *pools) start(ctx context.Context, got map[string]*openPool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, op := range got {
		errs = append(errs, op.Prepare(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, op := range got {
		if op.stop != nil {
			continue
		}
		run, stop := context.WithCancel(context.WithoutCancel(ctx))
		op.stop = stop
		p.wg.Go(func() { op.Run(run) })
	}
	return nil
}

// release gives back what acquire returned. A pool that nobody uses any more is stopped.
func (p *pools) release(got map[string]*openPool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, op := range got {
		if op.users--; op.users > 0 {
			continue
		}
		if op.stop != nil {
			op.stop()
		}
		maps.DeleteFunc(p.open, func(_ fastcgi.PoolOptions, have *openPool) bool { return have == op })
	}
}

// stop ends the pools that are in use even now, by jobs that would not be stopped, and returns when all pools have
// come to rest.
func (p *pools) stop() {
	p.mu.Lock()
	for _, op := range p.open {
		if op.stop != nil {
			op.stop()
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}
