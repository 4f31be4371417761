package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Pool is one PHP-FPM pool: its slots, its gate, and the files the bridge needs.
type Pool struct {
	opts    PoolOptions
	listen  address
	bridge  bridgeFile
	reports *reports
	workers *callbacks
	log     *slog.Logger
	metrics *Metrics

	wake chan struct{} // tells Run that a gate was shut
	hire chan struct{} // tells Run of a new crew

	looking sync.Mutex // held while somebody looks whether FPM is there
	paging  sync.Mutex // held while a scrape reads the status page

	mu       sync.Mutex
	gate     gate
	topics   []*Topic
	children int // slots there are when nobody else needs them
	limit    int // slots there are now
	used     int
	waiting  []*waiter // in order of arrival

	lastSeen  time.Time         // when FPM last took a connection
	lastHello time.Time         // when a child last took a job
	unheard   map[any]time.Time // when the runs and residents were sent that no child has taken yet
	silent    bool              // it has been said that no child takes jobs
	patience  time.Duration     // helloPatience

	page   statusPage // as it was read last
	pageAt time.Time  // when; zero before the first
}

// NewPool returns a pool whose gate is shut until [Pool.Run] has seen FPM answer. The options have been validated.
func NewPool(opts PoolOptions, log *slog.Logger, m *Metrics) *Pool {
	p := &Pool{
		opts:    opts,
		listen:  parseListen(opts.Listen),
		bridge:  newBridgeFile(opts),
		log:     log.With("pool", opts.Name),
		metrics: m,
		wake:    make(chan struct{}, 1),
		hire:    make(chan struct{}, 1),
		gate:    newGate(),

		children: opts.Children,
		limit:    opts.Children,
		unheard:  make(map[any]time.Time),
		patience: helloPatience,
	}
	p.reports = newReports(newSocket(p.bridge, "report", opts.Name, "", p.log))
	p.workers = newCallbacks(newSocket(p.bridge, "worker", opts.Name, strings.TrimPrefix(opts.WorkerSocket, "tcp://"), p.log))
	m.addPool(p)
	return p
}

// Prepare writes the bridge and opens the sockets that bridges call. Call it after the pool's topics are made: a pool whose
// topics are all raw needs neither. The error says what to do.
func (p *Pool) Prepare(ctx context.Context) error {
	if p.allRaw() {
		return nil
	}
	if err := p.bridge.install(); err != nil {
		return fmt.Errorf("fpm %q: %w", p.opts.Name, err)
	}
	err := p.reports.listen(ctx)
	if err != nil && !p.bridge.given {
		return fmt.Errorf("fpm %q: %w", p.opts.Name, err)
	}
	if err != nil { // a deployed bridge works without, but for scripts that finish their request early
		p.log.WarnContext(ctx, "no report socket", "error", err)
	}
	if err := p.listenForWorkers(ctx); err != nil {
		return fmt.Errorf("fpm %q: %w", p.opts.Name, err)
	}
	return nil
}

// listenForWorkers opens the socket for resident workers, if there will be any.
func (p *Pool) listenForWorkers(ctx context.Context) error {
	p.mu.Lock()
	crews := slices.ContainsFunc(p.topics, func(t *Topic) bool { return t.crew != nil })
	p.mu.Unlock()
	if !crews {
		return nil
	}
	err := p.workers.listen(ctx)
	if err != nil && p.opts.WorkerSocket != "" {
		return fmt.Errorf("worker_socket = %q: %w", p.opts.WorkerSocket, err)
	}
	return err
}

func (p *Pool) allRaw() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.topics {
		if t.opts.Bridge {
			return false
		}
	}
	return len(p.topics) > 0
}

// Run looks after the pool until ctx is done: it opens gates again, listens for reports and follows FPM's status
// page. ctx must outlive the jobs, whose reports it takes. When it returns, every goroutine it started has ended.
func (p *Pool) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { p.keepGates(ctx) })
	wg.Go(func() { p.reports.run(ctx) })
	wg.Go(func() { p.workers.run(ctx, p.workers.serve) })
	wg.Go(func() { p.keepCrews(ctx) })
	wg.Go(func() { p.watchStatus(ctx) })
	wg.Go(func() { p.watchPresence(ctx) })
	wg.Wait()
}

// Remove deletes the pool's metrics. Call it when Run has returned, or will not be called.
func (p *Pool) Remove() { p.metrics.removePool(p) }

// report sets the pool's gauges.
func (p *Pool) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.metrics.slotsChanged(p, p.limit, p.used)
	p.metrics.poolGate(p, p.gate.open())
	p.metrics.poolSilent(p, p.silent)
}

// Health returns nil while FPM answers and takes jobs, else the reason why it is thought not to.
func (p *Pool) Health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gate.reason != nil {
		return p.gate.reason
	}
	return p.silence()
}

// shutReason returns why no job of the pool may start, nil if they may.
func (p *Pool) shutReason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate.reason
}

// shutPool keeps jobs from starting until FPM answers again.
func (p *Pool) shutPool(reason error) {
	p.mu.Lock()
	news := p.gate.shut(reason)
	p.metrics.poolGate(p, false)
	p.mu.Unlock()
	if news {
		p.log.Warn("php-fpm is unavailable", "listen", p.opts.Listen, "reason", reason)
	}
	p.wakeProber()
}

func (p *Pool) openPool() {
	p.mu.Lock()
	news := p.gate.unshut()
	p.lastSeen = time.Now()
	p.metrics.poolGate(p, true)
	p.grant()
	for _, t := range p.topics {
		t.nudge()
	}
	p.mu.Unlock()
	if news {
		p.log.Info("php-fpm answers", "listen", p.opts.Listen)
	}
	p.wakeProber() // topics wait for it with their own checks
}

// proven forgets the faults of the pool and of t, if there were any: a run of what to says has started and come to an end.
// A doubt in another route stays.
func (p *Pool) proven(t *Topic, to *route) {
	p.mu.Lock()
	p.gate.faults = 0
	trial := false
	if t.gate.doubt.settledBy(to, time.Now()) {
		t.gate.faults, trial = 0, t.gate.trial
	}
	p.mu.Unlock()
	if trial {
		t.open()
	}
}

func (p *Pool) wakeProber() {
	select {
	case p.wake <- struct{}{}:
	default: // it has been told
	}
}

// explainDial adds to a dial error what can be done about it.
func explainDial(to address, err error) error {
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: listen.owner, listen.group and listen.mode of the FPM pool must admit uid %d, gid %d", err, os.Geteuid(), os.Getegid())
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%w: "+backlogFull, err)
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("%w: php-fpm is not running, or listens elsewhere", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: php-fpm is not running", err)
	}
	return err
}

// outOfDescriptors reports that err is this process's own limit, not FPM's fault.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
