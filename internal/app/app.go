// Package app builds the sidecar from its configuration and runs it: start, reload, two-phase stop, pid
// file, readiness. It is the only package that knows all the others.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sidecar/fastcgi"
	"sidecar/internal/admin"
	"sidecar/internal/config"
	"sidecar/internal/spool"
	"sidecar/queue"
)

// ErrRefused reports that this Redis cannot do what the sidecar needs, so that waiting or starting again would not help.
var ErrRefused = errors.New("refused")

var (
	errGraceOver = errors.New("the grace period is over")
	errAborted   = errors.New("stopped at once by a second signal")
)

// afterGrace is how long after the jobs in hand were told to stop the sidecar waits for them: to stop their
// scripts and put their texts back. grace + afterGrace stays below the 30 s that release scripts allow (CONTRACT 1.6).
const afterGrace = 3500 * time.Millisecond

// Options are what Run needs.
type Options struct {
	Config *config.Config
	Load   func() (*config.Config, error) // reads the configuration again
	Reload <-chan struct{}                // asks for it
	Abort  <-chan struct{}                // closed: stop the jobs in hand now

	// Injected dependencies.
	Version string
	Log     *slog.Logger
}

// Run consumes until ctx is done, gives the jobs in hand the grace period, and returns when all is still.
func Run(ctx context.Context, o Options) error {
	a := newApp(o)
	if path := o.Config.PIDFile; path != "" {
		f, err := writePIDFile(path)
		if err != nil {
			return err
		}
		defer func() {
			if err := f.remove(); err != nil {
				a.log.WarnContext(ctx, "remove pid_file", "error", err)
			}
		}()
	}
	stopAdmin, err := a.serveAdmin(ctx, o.Config.Admin)
	if err != nil {
		return err
	}
	defer stopAdmin()
	return a.run(ctx)
}

// app is what outlives a reload.
type app struct {
	opts     Options
	log      *slog.Logger
	registry *prometheus.Registry
	queue    *queue.Metrics
	fastcgi  *fastcgi.Metrics
	spool    *spool.Metrics
	pools    *pools
	series   users
	spools   users
	reloads  *prometheus.CounterVec

	mu       sync.Mutex
	current  *generation   // guarded by mu: the admin side reads it
	live     []*generation // guarded by mu: current, and the old ones that still finish their jobs
	stopping bool          // guarded by mu
}

func newApp(o Options) *app {
	reg := prometheus.NewRegistry()
	a := &app{
		opts:     o,
		log:      o.Log,
		registry: reg,
		queue:    queue.NewMetrics(reg, o.Config.TopicNames()),
		fastcgi:  fastcgi.NewMetrics(reg, slices.Collect(maps.Keys(o.Config.FPM)), o.Config.TopicNames()),
		spool:    spool.NewMetrics(reg),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_reloads_total", Help: "Reloads of the configuration, by result.",
		}, []string{"result"}),
	}
	a.pools = newPools(a.fastcgi, a.log)
	a.series = users{gone: a.queue.Forget}
	a.spools = users{gone: a.spool.Forget}
	for _, result := range []string{reloadDone, reloadSame, reloadRefused} {
		a.reloads.WithLabelValues(result)
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sidecar_build_info", Help: "1, with the version as a label.", ConstLabels: prometheus.Labels{"version": o.Version},
	})
	info.Set(1)
	reg.MustRegister(a.reloads, info, admin.NewDepths(a.stores),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return a
}

// serveAdmin starts the admin server, unless it is to listen nowhere, and returns what stops it.
func (a *app) serveAdmin(ctx context.Context, o config.Admin) (stop func(), err error) {
	if o.Listen == "" {
		return func() {}, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin listen: %w", err)
	}
	a.log.InfoContext(ctx, "admin listening", "addr", ln.Addr().String())
	// It answers until the very end: a probe during the stop must see 503, not a refused connection.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	handler := admin.Guard(admin.Handler(a.registry, a.notReady, a.lists, a.opts.Version), string(o.Token))
	wg.Go(func() { admin.Serve(serving, ln, handler, a.log) })
	return func() { cancel(); wg.Wait() }, nil
}

// run starts the first generation, replaces it at each reload, and ends all of them when ctx is done.
func (a *app) run(ctx context.Context) error {
	work, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	defer a.pools.stop()

	first, err := a.newGeneration(ctx, a.opts.Config)
	if err != nil {
		return err
	}
	var running sync.WaitGroup // generations, the old ones still finishing their jobs included
	refused := make(chan error, 1)
	start := func(g *generation) {
		a.setCurrent(g)
		running.Go(func() {
			defer a.retire(g)
			if err := g.run(ctx, work); err != nil {
				select {
				case refused <- err:
				default:
				}
			}
		})
	}
	start(first)
	a.log.InfoContext(ctx, "started", "version", a.opts.Version, "topics", len(first.topics), "config", first.cfg.Path)

	for {
		select {
		case <-a.opts.Reload:
			notifyReloading()
			if next := a.reload(ctx); next != nil {
				old := a.generation()
				start(next) // first: no moment without a consumer
				old.leave()
				a.log.InfoContext(ctx, "reloaded", "topics", len(next.topics))
				old.tellLeft(ctx, next)
			}
			notifyReady()
		case err := <-refused:
			a.drain(ctx, &running, abort)
			return err
		case <-ctx.Done():
			a.drain(ctx, &running, abort)
			return nil
		}
	}
}

// drain waits for the jobs in hand: for grace, then until they are stopped, then no longer.
func (a *app) drain(ctx context.Context, running *sync.WaitGroup, abort context.CancelCauseFunc) {
	notifyStopping()
	a.mu.Lock()
	a.stopping = true
	g := a.current
	a.mu.Unlock()
	g.leave()
	grace := g.cfg.Grace
	a.log.InfoContext(ctx, "stopping", "grace", grace, "in_hand", a.inHand())

	still := make(chan struct{})
	go func() { running.Wait(); close(still) }() // ends with the process at the latest
	select {
	case <-still:
	case <-a.opts.Abort:
		a.log.WarnContext(ctx, "second signal: stopping the jobs in hand", "in_hand", a.inHand())
		abort(errAborted)
	case <-time.After(grace):
		a.log.WarnContext(ctx, "grace is over: stopping the jobs in hand", "in_hand", a.inHand())
		abort(errGraceOver)
	}
	select {
	case <-still:
		a.log.InfoContext(ctx, "stopped")
	case <-time.After(afterGrace):
		// What is left keeps its lease and comes back when that ends: nothing is lost.
		a.log.ErrorContext(ctx, "stopped with jobs in hand; they run again when their lease ends", "in_hand", a.inHand())
	}
}

func (a *app) setCurrent(g *generation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current = g
	a.live = append(a.live, g)
}

// inHand returns how many jobs the sidecar holds, those of old generations included.
func (a *app) inHand() int {
	a.mu.Lock()
	live := slices.Clone(a.live)
	a.mu.Unlock()
	n := 0
	for _, g := range live {
		n += g.inHand()
	}
	return n
}

func (a *app) generation() *generation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

// stores returns the stores of the topics configured now.
func (a *app) stores() map[string]*queue.Store {
	stores := make(map[string]*queue.Store)
	if g := a.generation(); g != nil {
		for _, t := range g.topics {
			stores[t.name] = t.store
		}
	}
	return stores
}
