package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"sidecar/fastcgi"
	"sidecar/internal/alert"
	"sidecar/queue"
)

// samplePatience bounds one look: Redis that does not answer in this time is away.
const samplePatience = 6 * time.Second

// runAlerts looks at the alarms' rules until ctx is done. It asks Redis over the watchdogs' connections, and whatever its
// targets do, no job waits for it.
func (a *app) runAlerts(ctx context.Context) {
	defer a.alerts.Wait()
	for {
		every := a.lookForAlarms(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// lookForAlarms looks once and returns when to look again.
func (a *app) lookForAlarms(ctx context.Context) time.Duration {
	g := a.generation()
	o := g.cfg.Alert
	if len(o.Targets) == 0 {
		a.alerts.Tick(ctx, o, nil, alert.Snapshot{})
		return o.Every
	}
	began := time.Now()
	s := g.sample(ctx, a.queue, a.others())
	if a.pulse.Full() {
		s.Redis.Full = "it is at maxmemory and refuses what producers write"
	}
	a.alerts.Tick(ctx, o, queue.NewAlerts(g.eyes, g.cfg.Redis.KeyPrefix), s)
	return max(o.Every-time.Since(began), o.Every/2)
}

// sample looks at Redis, the pools and the topics. others are the heartbeats of the other sidecars.
func (g *generation) sample(ctx context.Context, m *queue.Metrics, others []queue.Heartbeat) alert.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, samplePatience)
	defer cancel()
	s := alert.Snapshot{At: time.Now(), Topics: make(map[string]alert.Topic), Pools: make(map[string]alert.Pool)}
	var now time.Time
	s.Redis, now = g.sampleRedis(ctx)
	for name, pool := range g.pools {
		p := alert.Pool{}
		if err := pool.Health(); err != nil && !errors.Is(err, fastcgi.ErrNotSeen) { // each start looks first: no fault
			p.Down, p.Full = err.Error(), fastcgi.IsFull(err.Error())
		}
		s.Pools[name] = p
	}
	var read map[string]queue.DepthsRead
	if !now.IsZero() {
		read = g.readDepths(ctx, others)
	}
	for i, t := range g.topics {
		r, asked := read[t.name]
		sampled := t.sample(m, now)
		sampled.Pool = g.cfg.Topics[i].Pool
		if d := r.Depths; asked && r.Err == nil {
			sampled.Known, sampled.Backlog, sampled.OldestDue, sampled.Dead = true, d.Due+d.Ready, d.OldestDueAge, d.Dead
		}
		if queue.FaultOf(r.Err).OfServer() {
			s.Redis.Away = cmp.Or(s.Redis.Away, r.Err.Error())
		}
		s.Topics[t.name] = sampled
	}
	return s
}

// sampleRedis asks Redis for the time, which needs no key and no luck. It is zero where Redis did not say.
func (g *generation) sampleRedis(ctx context.Context) (r alert.Redis, now time.Time) {
	asked := time.Now()
	now, err := g.eyes.Time(ctx).Result()
	r.Latency = time.Since(asked)
	if err == nil {
		return r, now
	}
	if fault := queue.FaultOf(err); fault.OfServer() || fault == queue.Stopped {
		r.Away = err.Error()
	}
	if queue.FaultOf(err) != queue.Network { // a refusal is quick, and no measure
		r.Latency = 0
	}
	return r, time.Time{}
}

// sample is what this process knows of the topic. now is Redis's time, zero where it did not tell.
func (t *topic) sample(m *queue.Metrics, now time.Time) (s alert.Topic) {
	tally := m.Tally(t.name)
	s.Runs, s.Failed = tally.Runs, tally.Failed
	var server outage
	s.Stalled = stalledBy(t.notReady(&server))
	if !now.IsZero() {
		s.Paused, s.PausedBy = t.pausedFor(now)
		s.Waits = t.isMeantToWait()
	}
	return s
}

// stalledBy returns the last of reasons that is a fault, "" for none.
func stalledBy(reasons []error) (why string) {
	for _, err := range reasons {
		if !errors.Is(err, fastcgi.ErrNotSeen) {
			why = err.Error()
		}
	}
	return why
}

// pausedFor returns for how long somebody, or the topic's breaker, has held it up, and who.
func (t *topic) pausedFor(now time.Time) (d time.Duration, by string) {
	for _, h := range t.consumer.Holds() {
		switch h.Kind {
		case queue.HoldManual, queue.HoldBreaker:
			if lasts := now.Sub(h.Since); !h.Since.IsZero() && lasts > d {
				d, by = lasts, cmp.Or(h.By, "its breaker") // whose reason may quote a job's error
			}
		case queue.HoldWindow, queue.HoldRate: // as the configuration wants it
		}
	}
	return d, by
}

// isMeantToWait reports that the topic's jobs wait because a person, now or in the configuration, wants them to.
func (t *topic) isMeantToWait() bool {
	return slices.ContainsFunc(t.consumer.Holds(), func(h queue.Hold) bool {
		return h.Kind == queue.HoldManual || h.Kind == queue.HoldWindow
	})
}
