// Package app builds the sidecar from its configuration and runs it: start, reload, two-phase stop, pid
// file, readiness. It is the only package that knows all the others.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sidecar/fastcgi"
	"sidecar/internal/admin"
	"sidecar/internal/alert"
	"sidecar/internal/config"
	"sidecar/internal/dash"
	"sidecar/internal/pulse"
	"sidecar/internal/spool"
	"sidecar/internal/trace"
	"sidecar/internal/undo"
	"sidecar/queue"
)

// ErrRefused reports that this Redis cannot do what the sidecar needs, so that waiting or starting again would not help.
var ErrRefused = errors.New("refused")

// Options are what Run needs.
type Options struct {
	Config *config.Config
	Load   func() (*config.Config, error) // reads the configuration again
	Reload <-chan struct{}                // asks for it
	Abort  <-chan struct{}                // closed: stop the jobs in hand now

	// Injected dependencies.
	Version string
	Log     *slog.Logger
	Level   *slog.LevelVar // Log's, which a reload sets
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
	closeTracer, err := a.openTracer(ctx, o.Config.Trace)
	if err != nil {
		return err
	}
	defer closeTracer()
	defer a.watchAll(ctx)()
	stopAdmin, err := a.serveAdmin(ctx, o.Config.Admin)
	if err != nil {
		return err
	}
	defer stopAdmin()
	return a.run(ctx)
}

// app is what outlives a reload.
type app struct {
	opts      Options
	log       *slog.Logger
	flow      *prometheus.Registry // the queue's metrics alone: gathering them asks nobody
	registry  *prometheus.Registry // all others
	queue     *queue.Metrics
	fastcgi   *fastcgi.Metrics
	spool     *spool.Metrics
	alerts    *alert.Engine
	pools     *pools
	series    users
	spools    users
	reloads   *prometheus.CounterVec
	depths    *depthsReader
	incidents *queue.Incidents
	pulse     *pulse.Pulse
	instance  string // the name of this process among all sidecars
	host      string
	began     time.Time
	tracing   *trace.Metrics
	tracer    queue.Tracer       // nil: nobody traces
	roll      chan chan struct{} // the main loop closes what comes: it is there

	mu       sync.Mutex
	current  *generation   // guarded by mu: the admin side reads it
	live     []*generation // guarded by mu: current, and the old ones that still finish their jobs
	stopping bool          // guarded by mu
	refusal  string        // guarded by mu: why the last reload was refused, "" where it was not
}

func newApp(o Options) *app {
	reg, flow := prometheus.NewRegistry(), prometheus.NewRegistry()
	instance, host := instanceID()
	a := &app{
		opts:      o,
		instance:  instance,
		host:      host,
		log:       o.Log,
		roll:      make(chan chan struct{}),
		flow:      flow,
		registry:  reg,
		depths:    newDepthsReader(),
		incidents: queue.NewIncidents(),
		began:     time.Now(),
		queue:     queue.NewMetrics(flow, o.Config.TopicNames()),
		fastcgi:   fastcgi.NewMetrics(reg, slices.Collect(maps.Keys(o.Config.FPM)), o.Config.TopicNames()),
		spool:     spool.NewMetrics(reg),
		tracing:   trace.NewMetrics(reg),
		alerts:    alert.NewEngine(instance, alert.NewMetrics(reg), o.Log),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecar_reloads_total", Help: "Reloads of the configuration, by result.",
		}, []string{"result"}),
	}
	a.pulse = pulse.New(flow, a, a.log)
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
	reg.MustRegister(a.reloads, info, admin.NewDepths(a.readDepths), admin.NewServers(a.servers),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return a
}

// metrics are all that /metrics shows.
func (a *app) metrics() prometheus.Gatherer { return prometheus.Gatherers{a.flow, a.registry} }

// watchAll counts the topics' keys and meets the other sidecars, until what it returns is called: that says goodbye.
func (a *app) watchAll(ctx context.Context) (stop func()) {
	ctx = context.WithoutCancel(ctx)
	uncount := background(ctx, func(ctx context.Context) { a.depths.run(ctx, a) })
	part := background(ctx, a.pulse.Run)
	return func() {
		uncount()
		part()
		if g := a.generation(); g != nil {
			_ = g.eyes.Close() // kept open for the goodbye
		}
	}
}

// serveAdmin starts the admin server, unless it is to listen nowhere, and returns what stops it.
func (a *app) serveAdmin(ctx context.Context, o config.Admin) (stop func(), err error) {
	if o.Listen == "" {
		return func() {}, nil
	}
	ln, err := admin.Listen(ctx, o.Listen, o.SocketMode)
	if err != nil {
		return nil, fmt.Errorf("admin listen: %w", err)
	}
	a.log.InfoContext(ctx, "admin listening", "addr", ln.Addr().String())
	panel := a.newPanel()
	if o.MayWrite() {
		a.makeUndoDir(ctx, o.UndoDir)
	}
	handler := admin.New(admin.Options{
		Gatherer: a.metrics(), Ready: a.notReady, Holds: a.Holds, Lists: a.lists, Version: a.opts.Version,
		Door: admin.DoorOptions{
			Listen: o.Listen, Token: string(o.Token), Hosts: o.Hosts, Write: o.Write, ShowPayload: o.ShowPayload,
		},
		Pages:  dash.New(panel, dash.Options{Timezone: a.opts.Config.Timezone, Log: a.log}),
		Source: panel,
	})
	// It answers until the very end: a probe during the stop must see 503, not a refused connection.
	return background(context.WithoutCancel(ctx), func(ctx context.Context) { admin.Serve(ctx, ln, handler, a.log) }), nil
}

// makeUndoDir says at the start what would else be said to whoever wants to put something right.
func (a *app) makeUndoDir(ctx context.Context, dir string) {
	if err := undo.MakePlace(dir); err != nil {
		a.log.WarnContext(ctx, "the dashboard can replay and drop nothing, since it could not be undone", "undo_dir", dir, "error", err)
	}
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
	hush := background(ctx, newHerald(a).run)
	defer hush()
	defer background(ctx, a.runAlerts)()
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
		case present := <-a.roll:
			close(present)
		case err := <-refused:
			hush()
			a.drain(ctx, &running, abort)
			return err
		case <-ctx.Done():
			a.drain(ctx, &running, abort)
			return nil
		}
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

// readDepths counts the keys of the topics that are configured now.
func (a *app) readDepths(ctx context.Context) map[string]queue.DepthsRead {
	if g := a.generation(); g != nil {
		return g.readDepths(ctx, a.others())
	}
	return nil
}

// servers returns the servers of the Redis that is configured now; nil while none is.
func (a *app) servers() *queue.Servers {
	if g := a.generation(); g != nil {
		return g.servers
	}
	return nil
}
