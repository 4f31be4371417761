package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// aliveMost bounds what is read of the heartbeats at once.
	aliveMost = 1000

	// LostAfter is after how long without a heartbeat a sidecar is thought to be gone: three of them, and what one may take.
	LostAfter = 35 * time.Second

	// goneAfter is how long a sidecar is remembered that says nothing any more.
	goneAfter = 24 * time.Hour
)

// Heartbeat is what a sidecar says of itself to the others. Its JSON names are a promise: this is how it lies in Redis.
type Heartbeat struct {
	Instance string        `json:"instance"`
	Host     string        `json:"host"`
	PID      int           `json:"pid"`
	Version  string        `json:"version"`
	Started  time.Time     `json:"started"` // by Redis's clock, like At
	At       time.Time     `json:"at"`
	Stopping bool          `json:"stopping,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // it has said goodbye
	Reasons  []string      `json:"reasons,omitempty"` // why it runs nothing; none: it is ready
	Topics   []string      `json:"topics"`
	InHand   int           `json:"in_hand"`
	Memory   int64         `json:"memory_bytes,omitempty"`
	Pools    []PoolReading `json:"pools"`
	Holds    []HeldTopic   `json:"holds,omitempty"` // by this sidecar alone: breakers and rates, heldMost of them at most
	Runs     []Run         `json:"runs,omitempty"`  // its jobs that run, those that have run the longest, runsMost of them at most

	Settings  map[string]string  `json:"settings,omitempty"`      // by topic: sums of its options, as config has them
	Leases    map[string]float64 `json:"lease_seconds,omitempty"` // by topic: how long its leases are; under "" those of all that are not named
	Incidents []Incident         `json:"incidents,omitempty"`     // of the last day
	Heads     map[string]Head    `json:"heads,omitempty"`         // of its topics that are no lists
	Fresh     *FreshDead         `json:"fresh,omitempty"`         // nil: none

	Refused bool `json:"refused,omitempty"` // Redis was at maxmemory and refused what producers write, as it said to the heartbeat before

	ReloadErr string `json:"reload_refused,omitempty"` // why it goes on with the settings of before, on one line; "" where the last reload was taken

	Unread bool `json:"-"` // its text cannot be read, as another version's may: what it does is not known, see [Heartbeat.Has]

	Full bool `json:"-"` // Redis is at maxmemory and refuses what producers write, as it said to this heartbeat
	Anew bool `json:"-"` // none of the sidecar's lay there before this one
}

// FreshDead are the jobs that have died on a sidecar in a minute that is not published yet, by topic. Its JSON names are a
// promise.
type FreshDead struct {
	Minute int64            `json:"minute"` // as [Minute.At]
	Dead   map[string]int64 `json:"dead"`
}

// Run is a job that a sidecar has running. Its JSON names are a promise.
type Run struct {
	Topic string  `json:"topic"`
	UUID  string  `json:"uuid"`                  // as compat.PlainUUID has it
	PID   int     `json:"pid,omitempty"`         // of PHP; 0: nothing tells
	For   float64 `json:"for_seconds,omitempty"` // how long when the heartbeat was written
}

const (
	// runsMost bounds how many runs a heartbeat tells of.
	runsMost = 100

	// runLeast is how long a job must run to be told of: of shorter ones their leases tell when they were claimed.
	runLeast = time.Second
)

// AddRun has the heartbeat tell of a run; the longest ones stay where there are too many.
func (b *Heartbeat) AddRun(topic, uuid string, pid int, lasted time.Duration) {
	if uuid == "" || lasted < runLeast {
		return
	}
	run := Run{Topic: topic, UUID: uuid, PID: pid, For: float64(lasted.Milliseconds()) / 1000}
	at, _ := slices.BinarySearchFunc(b.Runs, run, func(x, y Run) int { return cmp.Compare(y.For, x.For) })
	b.Runs = slices.Insert(b.Runs, at, run)
	b.Runs = b.Runs[:min(runsMost, len(b.Runs))]
}

// RunOf is the sidecar's run of a topic's job, and since when it goes on, by Redis's clock.
func (b Heartbeat) RunOf(topic, uuid string) (run Run, since time.Time, found bool) {
	for _, run := range b.Runs {
		if run.Topic == topic && run.UUID == uuid {
			return run, b.At.Add(-time.Duration(run.For * float64(time.Second))), true
		}
	}
	return Run{}, time.Time{}, false
}

// AddLease has the heartbeat tell how long a topic's leases are. Mostly they are the same for all, and told once.
func (b *Heartbeat) AddLease(topic string, lease time.Duration) {
	seconds := lease.Seconds()
	if b.Leases == nil {
		b.Leases = map[string]float64{"": seconds}
	}
	if b.Leases[""] != seconds {
		b.Leases[topic] = seconds
	}
}

// LeaseOf is how long the sidecar's leases of a topic are; 0: it has not got it, or does not tell.
func (b Heartbeat) LeaseOf(topic string) time.Duration {
	seconds, named := b.Leases[topic]
	if !named && b.Has(topic) {
		seconds = b.Leases[""]
	}
	return time.Duration(seconds * float64(time.Second))
}

// heldMost bounds how many holds a heartbeat tells of.
const heldMost = 100

// AddHolds has the heartbeat tell of those holds of a topic that no other sidecar knows of; breakers push rates out where
// there are too many.
func (b *Heartbeat) AddHolds(topic string, holds []Hold) {
	for _, h := range holds {
		switch {
		case h.Kind != HoldBreaker && h.Kind != HoldRate: // everybody can read the pauses, and the windows are everybody's
		case len(b.Holds) < heldMost:
			b.Holds = append(b.Holds, HeldTopic{topic, h})
		case h.Kind == HoldBreaker:
			if i := slices.IndexFunc(b.Holds, func(t HeldTopic) bool { return t.Kind == HoldRate }); i >= 0 {
				b.Holds[i] = HeldTopic{topic, h}
			}
		}
	}
}

// Lost reports that the sidecar has said nothing for so long that it must be gone.
func (b Heartbeat) Lost(now time.Time) bool { return now.Sub(b.At) > LostAfter }

// PoolReading is a PHP-FPM pool as a sidecar sees it.
type PoolReading struct {
	Name     string `json:"name"`
	Listen   string `json:"listen"`
	Slots    int    `json:"slots"`    // that jobs may occupy now
	Children int    `json:"children"` // and at most
	Used     int    `json:"used"`
	Queue    int    `json:"listen_queue"` // by FPM's status page
	Down     string `json:"down,omitempty"`
}

// Heartbeats are those of all sidecars of one Redis: the hash sidecar:alive, a field a sidecar.
type Heartbeats struct {
	rdb redis.UniversalClient
	key string
}

// NewHeartbeats returns the heartbeats of a Redis. prefix stands before every key.
func NewHeartbeats(rdb redis.UniversalClient, prefix string) *Heartbeats {
	return &Heartbeats{rdb: rdb, key: prefix + "sidecar:alive"}
}

// Lived reports that a sidecar has lived behind prefix within a day or so, or that this may not be asked.
func Lived(ctx context.Context, rdb redis.UniversalClient, prefix string) bool {
	n, err := rdb.Exists(ctx, NewHeartbeats(rdb, prefix).key).Result()
	return n > 0 || err != nil
}

// Beat says that b lives, and returns Redis's time, which is b.At there; a zero b.Started becomes it, too.
func (h *Heartbeats) Beat(ctx context.Context, b Heartbeat) (Heartbeat, error) {
	now, err := h.rdb.Time(ctx).Result()
	if err != nil {
		return b, fmt.Errorf("write to %s: %w", h.key, err)
	}
	b.At = now.UTC()
	if b.Started.IsZero() {
		b.Started = b.At
	}
	text, err := json.Marshal(b)
	if err != nil {
		return b, fmt.Errorf("write to %s: %w", h.key, err)
	}
	reply, err := beatScript.run(ctx, h.rdb, []string{h.key}, b.Instance, text)
	if err != nil {
		return b, fmt.Errorf("write to %s: %w", h.key, err)
	}
	found, _ := reply.(int64)
	b.Full, b.Anew = found&1 != 0, found&2 != 0
	return b, nil
}

// All returns the heartbeats of those that live or were heard of within a day, sorted by host and instance, also those that
// cannot be read. Older ones are taken away.
func (h *Heartbeats) All(ctx context.Context) ([]Heartbeat, error) {
	n, err := h.rdb.HLen(ctx, h.key).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", h.key, err)
	}
	if n > aliveMost {
		return nil, fmt.Errorf("%s has %d fields, want at most %d: it holds something else than heartbeats", h.key, n, aliveMost)
	}
	texts, err := h.rdb.HGetAll(ctx, h.key).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", h.key, err)
	}
	now, err := h.rdb.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", h.key, err)
	}
	r := beatsRead{now: now.UTC(), texts: texts}
	for _, instance := range slices.Sorted(maps.Keys(texts)) {
		r.take(instance, texts[instance])
	}
	if len(r.old) > 0 {
		h.rdb.HDel(ctx, h.key, r.old...) // else the next look does it
	}
	if len(r.marks) > 0 {
		h.rdb.HSet(ctx, h.key, r.marks...) // as above
	}
	slices.SortStableFunc(r.list, func(x, y Heartbeat) int { return strings.Compare(x.Host, y.Host) })
	return r.list, nil
}
