package fastcgi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// helloPatience is how long jobs may wait for a child before somebody must be told.
	helloPatience = 10 * time.Second

	// presenceEvery is how often an idle pool looks whether FPM is there, so that no job is claimed to find out.
	presenceEvery = 5 * time.Second
	// presenceHolds is for how long a look is believed.
	presenceHolds = time.Second
	// presencePatience is how long a look may take: a SYN is sent twice in that time.
	presencePatience = 2 * time.Second
)

// Check is Health after a look whether somebody listens where FPM should, unless there was one within the last second.
func (p *Pool) Check(ctx context.Context) error {
	p.looking.Lock()
	defer p.looking.Unlock()
	if p.shutReason() != nil || p.seenWithin(presenceHolds) {
		return p.Health()
	}
	dialer := net.Dialer{Timeout: presencePatience}
	c, err := dialer.DialContext(ctx, p.listen.network, p.listen.name)
	switch {
	case err == nil:
		_ = c.Close() // a child that takes it finds its end
		p.mu.Lock()
		p.lastSeen = time.Now()
		p.mu.Unlock()
	case ctx.Err() == nil:
		p.shutPool(explainDial(p.listen, err))
	}
	return p.Health()
}

func (p *Pool) seenWithin(d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.lastSeen) < d
}

// watchPresence looks for FPM while there is nothing to do, and says when no child takes jobs.
func (p *Pool) watchPresence(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.noteSilence()
		p.endLongTrials()
		if !p.seenWithin(presenceEvery) {
			_ = p.Check(ctx) // the gate keeps what it finds
		}
	}
}

// noteSilence logs, once each, that no child takes jobs and that one does again.
func (p *Pool) noteSilence() {
	p.mu.Lock()
	reason := p.silence()
	news := p.silent != (reason != nil)
	p.silent = reason != nil
	p.metrics.poolSilent(p, p.silent)
	p.mu.Unlock()
	switch {
	case news && reason != nil:
		p.log.Warn("jobs wait and no child takes one", "listen", p.opts.Listen, "reason", reason)
	case news:
		p.log.Info("no job waits for a child in vain any more", "listen", p.opts.Listen)
	}
}

// silence returns why jobs that have been sent do not begin: FPM takes connections, and no child has said hello for
// long. It is nil while nobody waits. p.mu is held.
//
// The kernel takes connections for whoever listens, frozen or not, so that nothing else would tell.
func (p *Pool) silence() error {
	if waited := p.waited(); waited >= p.patience {
		return noChild(waited)
	}
	return nil
}

// waited returns for how long jobs have waited since a child took one last; 0 when none does. p.mu is held.
func (p *Pool) waited() time.Duration {
	if len(p.unheard) == 0 {
		return 0
	}
	oldest := time.Now()
	for _, sent := range p.unheard {
		if sent.Before(oldest) {
			oldest = sent
		}
	}
	if p.lastHello.After(oldest) {
		oldest = p.lastHello
	}
	return time.Since(oldest)
}

// errNoChild reports that FPM takes connections and none of its children a job.
var errNoChild = errors.New("no child took the job")

// backlogFull ends what is said of a dial that FPM had no room for.
const backlogFull = "FPM's backlog is full"

// IsFull reports that reason, one of a pool's as people are told it, is that PHP-FPM is there and takes no job, and not that it does not
// answer. It has no free worker, or hangs: the kernel takes connections for both alike, and refuses them alike.
func IsFull(reason string) bool {
	return strings.Contains(reason, errNoChild.Error()) || strings.HasSuffix(reason, backlogFull)
}

// noChild says what it means that jobs have waited in vain.
func noChild(waited time.Duration) error {
	return fmt.Errorf("%w within %s: php-fpm hangs, all its children are busy, or what listens there is not php-fpm",
		errNoChild, waited.Round(time.Second))
}

// sent notes that r, a run or a resident, waits for its hello. Where there is none it does not wait.
func (p *Pool) sent(r any, greets bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastSeen = time.Now()
	if greets {
		p.unheard[r] = p.lastSeen
	}
}

// heard notes that a child has taken r.
func (p *Pool) heard(r any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastHello = time.Now()
	p.lastSeen = p.lastHello
	delete(p.unheard, r)
}

// awaited reports that jobs wait for their hello.
func (p *Pool) awaited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.unheard) > 0
}

// unsent notes that r waits no more.
func (p *Pool) unsent(r any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.unheard, r)
}
