package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"runtime/metrics"
	"slices"
	"strings"

	"sidecar/internal/pulse"
	"sidecar/queue"
)

// instanceID names this process among all sidecars of one Redis.
func instanceID() (instance, host string) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6])), host
}

// Heartbeat says how this sidecar does, for the others.
func (a *app) Heartbeat(ctx context.Context) queue.Heartbeat {
	a.mu.Lock()
	g, stopping, refusal := a.current, a.stopping, a.refusal
	a.mu.Unlock()
	b := queue.Heartbeat{
		Instance: a.instance, Host: a.host, PID: os.Getpid(), Version: a.opts.Version,
		Stopping: stopping, InHand: a.inHand(), Memory: memoryInUse(), Incidents: a.incidents.List(), ReloadErr: refusal,
		Heads: make(map[string]queue.Head),
	}
	if g == nil {
		b.Reasons = []string{"starting"}
		return b
	}
	b.Reasons = g.knownReasons()
	b.Settings = g.sums
	for _, t := range g.topics {
		b.Topics = append(b.Topics, t.name)
		b.AddLease(t.name, g.optionsOf(t.name).Lease)
		b.AddHolds(t.name, t.consumer.Holds())
		if head, known := t.consumer.Head(); known {
			b.Heads[t.name] = head
		}
	}
	a.addRuns(&b)
	for _, name := range slices.Sorted(maps.Keys(g.pools)) {
		r := g.pools[name].Reading()
		p := queue.PoolReading{Name: name, Listen: g.cfg.FPM[name].Listen, Slots: r.Slots, Children: r.Children, Used: r.Used, Queue: r.Queue}
		if r.Down != nil {
			p.Down = r.Down.Error()
		}
		b.Pools = append(b.Pools, p)
	}
	return b
}

// addRuns has the heartbeat tell of what runs, also in generations that a reload has replaced.
func (a *app) addRuns(b *queue.Heartbeat) {
	a.mu.Lock()
	live := slices.Clone(a.live)
	a.mu.Unlock()
	for _, g := range live {
		for _, t := range g.topics {
			for _, run := range t.fpm.Runs() {
				b.AddRun(t.name, run.UUID, run.PID, run.For)
			}
		}
	}
}

// others are the heartbeats of all sidecars but this one.
func (a *app) others() []queue.Heartbeat {
	alive, _ := a.pulse.Alive()
	return slices.DeleteFunc(slices.Clone(alive), func(b queue.Heartbeat) bool { return b.Instance == a.instance })
}

// Holds returns what holds topics back at present. None of it is a fault.
func (a *app) Holds() (held []queue.HeldTopic) {
	g := a.generation()
	if g == nil {
		return nil
	}
	for _, t := range g.topics {
		for _, h := range t.consumer.Holds() {
			held = append(held, queue.HeldTopic{Topic: t.name, Hold: h})
		}
	}
	return held
}

// Readings returns the topics' depths as they were read last.
func (a *app) Readings() map[string]queue.Reading {
	readings := make(map[string]queue.Reading)
	for name, r := range a.depths.latest().topics {
		if r.Err == nil {
			d := r.Depths
			readings[name] = queue.Reading{
				Pool: d.Pool, Due: d.Due, Ready: d.Ready, Running: d.Running, Dead: d.Dead, OldestDue: d.OldestDueAge.Seconds(),
			}
		}
	}
	return readings
}

// Peaks returns the greatest measures of each topic since the last call.
func (a *app) Peaks() map[string]queue.Peaks { return a.queue.Peaks() }

// memoryInUse is what the process has of the system.
func memoryInUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// Meeting returns where the sidecars meet now; nil while there is nowhere.
func (a *app) Meeting() *pulse.Server {
	g := a.generation()
	if g == nil {
		return nil
	}
	return &pulse.Server{Redis: g.eyes, Prefix: g.cfg.Redis.KeyPrefix}
}
