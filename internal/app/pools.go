package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"

	"sidecar/fastcgi"
)

// pools are the FPM pools in use. A pool outlives a reload unless it becomes another one, so that its slots are counted
// once although two generations use it.
type pools struct {
	metrics *fastcgi.Metrics
	log     *slog.Logger
	wg      sync.WaitGroup // their Run

	mu   sync.Mutex
	open map[identity]*openPool // guarded by mu
}

// identity is what makes a pool another one when it changes: everything but its number of children.
type identity fastcgi.PoolOptions

func identityOf(o fastcgi.PoolOptions) identity {
	o.Children = 0
	return identity(o)
}

// openPool is a pool and how many generations use it.
type openPool struct {
	*fastcgi.Pool
	users int                // guarded by pools.mu
	stop  context.CancelFunc // guarded by pools.mu; nil until it runs
}

func newPools(m *fastcgi.Metrics, log *slog.Logger) *pools {
	return &pools{metrics: m, log: log, open: make(map[identity]*openPool)}
}

// acquire returns a pool for each of opts, by name: those that are open already, and new ones. Give them back with
// release. New ones do nothing before start, which is to be called when their topics are made.
func (p *pools) acquire(opts map[string]fastcgi.PoolOptions) map[string]*openPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := make(map[string]*openPool, len(opts))
	for name, o := range opts {
		op := p.open[identityOf(o)]
		if op == nil {
			op = &openPool{Pool: fastcgi.NewPool(o, p.log, p.metrics)}
			p.open[identityOf(o)] = op
		}
		op.users++
		got[name] = op
	}
	return got
}

// prepare sees to it that PHP-FPM finds what it needs.
func prepare(ctx context.Context, got map[string]*openPool) error {
	var errs []error
	for _, op := range got {
		errs = append(errs, op.Prepare(ctx))
	}
	return errors.Join(errs...)
}

// start prepares what PHP-FPM needs, gives each pool the children that opts grant it, and runs the pools that do not
// run yet. They outlive ctx, as their jobs do.
func (p *pools) start(ctx context.Context, got map[string]*openPool, opts map[string]fastcgi.PoolOptions) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := prepare(ctx, got); err != nil {
		return err
	}
	for name, op := range got {
		op.SetChildren(opts[name].Children)
		if op.stop != nil {
			continue
		}
		run, stop := context.WithCancel(context.WithoutCancel(ctx))
		op.stop = stop
		p.wg.Go(func() {
			op.Run(run)
			op.Remove()
		})
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
		} else {
			op.Remove()
		}
		maps.DeleteFunc(p.open, func(_ identity, have *openPool) bool { return have == op })
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
