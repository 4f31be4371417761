package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// poolProbeEvery and topicProbeEvery bound the backoff of the checks while a gate is shut.
	poolProbeEvery  = time.Second
	topicProbeEvery = 5 * time.Second

	// pingPatience is how long a check of the pool waits. No answer means that all children are busy: FPM is up.
	pingPatience = 2 * time.Second
	// checkPatience is how long a check of a topic's files waits for a free child.
	checkPatience = 30 * time.Second
)

// errBusy reports that FPM took the connection and no child was free to answer.
var errBusy = errors.New("no child was free to answer")

// keepGates opens shut gates again, each by checks of its own, until ctx is done.
func (p *Pool) keepGates(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		for _, reopen := range p.toReopen() {
			wg.Go(func() { reopen(ctx) })
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// toReopen returns what is to be started for gates that are shut and that nobody probes. While the pool's is
// shut, the topics' wait.
func (p *Pool) toReopen() []func(context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gate.open() {
		if p.gate.probing {
			return nil
		}
		p.gate.probing = true
		return []func(context.Context){p.reopen}
	}
	var list []func(context.Context)
	for _, t := range p.topics {
		if !t.gate.open() && !t.gate.probing && !t.gate.trial {
			t.gate.probing = true
			list = append(list, t.reopen)
		}
	}
	return list
}

// reopen asks until FPM answers, then opens the pool's gate.
func (p *Pool) reopen(ctx context.Context) {
	for p.pause(ctx, &p.gate, poolProbeEvery) {
		err := p.Ping(ctx)
		if err == nil {
			p.endProbing(&p.gate)
			p.openPool()
			return
		}
		if ctx.Err() == nil {
			p.shutPool(err)
		}
	}
	p.endProbing(&p.gate)
}

// reopen checks the topic's files until they are there, then opens its gate. It gives up when the pool is down:
// the pool's return begins it anew.
func (t *Topic) reopen(ctx context.Context) {
	p := t.pool
	for t.pauseForCheck(ctx) && p.shutReason() == nil && t.listed() {
		err := t.check(ctx)
		if err == nil {
			t.admit()
			p.endProbing(&t.gate)
			return
		}
		var down *downError
		switch {
		case ctx.Err() != nil:
		case errors.As(err, &down):
			p.endProbing(&t.gate)
			p.shutPool(down.cause)
			return
		default:
			t.shut(err)
		}
	}
	p.endProbing(&t.gate)
}

func (p *Pool) endProbing(g *gate) {
	p.mu.Lock()
	g.probing = false
	p.mu.Unlock()
	p.wakeProber() // it may have been shut again meanwhile
}

// pause waits out g's backoff. It reports false when ctx is done.
func (p *Pool) pause(ctx context.Context, g *gate, most time.Duration) bool {
	pauseFor(ctx, p.nextPause(g, most))
	return ctx.Err() == nil
}

// nextPause returns g's backoff, at most most, and makes the one after it longer.
func (p *Pool) nextPause(g *gate, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := backoff(g.faults, most)
	g.faults++
	return wait
}

// downError reports that the pool itself did not answer.
type downError struct{ cause error }

func (e *downError) Error() string { return e.cause.Error() }

// Ping asks FPM for an answer now. All children being busy is an answer, too.
func (p *Pool) Ping(ctx context.Context) error {
	if !p.allRaw() && p.bridge.ensure() == nil {
		_, err := p.askBridge(ctx, p.listen, order{Mode: modeCheck}, pingPatience)
		return p.upUnlessDown(err)
	}
	// Any answer will do; a script that is not there makes FPM give one without running anything.
	_, err := p.ask(ctx, p.listen, baseParams("/sidecar-ping", "/sidecar-ping", "/", ""), newNonce(), pingPatience)
	return p.upUnlessDown(err)
}

func (p *Pool) upUnlessDown(err error) error {
	if down, ok := errors.AsType[*downError](err); ok {
		return down.cause
	}
	return nil
}

// check finds out whether the topic's jobs could start: bridge, script and bootstrap are there and FPM may read them.
func (t *Topic) check(ctx context.Context) error {
	p := t.pool
	if !t.opts.Bridge {
		// Running the script is the only way to ask FPM, and that is the job's business.
		return t.lookForFiles()
	}
	if err := p.bridge.ensure(); err != nil {
		return err
	}
	if p.full() { // of resident workers, maybe for long: nobody would answer. The first run will tell
		return t.lookForFiles()
	}
	at, asked := newFollower(p.opts.Chroot), map[string]bool{}
	for _, to := range t.routes.list {
		if len(asked) > 0 && (to.script == "" || asked[to.script]) {
			continue
		}
		asked[to.script] = true
		if err := t.askFor(ctx, to, order{Mode: modeCheck, Script: at.follow(to.script), Bootstrap: at.follow(t.opts.Bootstrap)}); err != nil {
			return err
		}
	}
	return nil
}

// lookForFiles looks for bootstrap and scripts as far as this host can see them.
func (t *Topic) lookForFiles() error {
	for _, to := range t.routes.list {
		if to.script != "" && seenMissing(t.pool.opts.Chroot, to.script) {
			return errors.New(to.named("script " + to.script + " does not exist"))
		}
	}
	if boot := t.opts.Bootstrap; boot != "" && seenMissing(t.pool.opts.Chroot, boot) {
		return fmt.Errorf("bootstrap %s does not exist", boot)
	}
	return nil
}

// askFor has the bridge look for the files in o, which to needs.
func (t *Topic) askFor(ctx context.Context, to *route, o order) error {
	p := t.pool
	answer, err := p.askBridge(ctx, p.listen, o, checkPatience)
	switch {
	case err != nil:
		return err
	case answer.sign == nil:
		if err := p.bridge.install(); err != nil { // it may have been altered, at the same length
			return err
		}
		return fmt.Errorf("bridge %s: %s", p.bridge.path, answer.refusal())
	case answer.sign.Verdict != "done":
		return errors.New(to.named(answer.sign.Error))
	}
	return nil
}

// full reports that jobs and resident workers have all slots, and some of them are kept for long.
func (p *Pool) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	crews := slices.ContainsFunc(p.topics, func(t *Topic) bool { return t.crew != nil && t.used > 0 })
	return crews && p.used >= p.limit
}
