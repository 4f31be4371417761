package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/internal/plural"
	"sidecar/queue"
)

// change is by how many jobs each of a topic's keys grew a second. Its JSON names are a promise.
type change struct {
	Pool    float64 `json:"pool"`
	Ready   float64 `json:"ready"`
	Running float64 `json:"running"`
	Dead    float64 `json:"dead"`
}

// sample is what one look at all topics saw.
type sample struct {
	at     string // as compat.FormatAt writes it, by Redis's clock; "" where it does not tell
	taken  time.Time
	topics []topicStatus

	unheld error    // why it is not known which topics are paused
	lonely bool     // no sidecar says that it lives
	stale  []string // what sidecars say whose reload was refused
	full   []string // sidecars that say that Redis is at maxmemory and refuses what producers write
	unread []string // sidecars that live and whose heartbeats cannot be read
}

func (s sample) failed() bool {
	for _, t := range s.topics {
		if t.Error != "" {
			return true
		}
	}
	return false
}

// foot is what stands below a table of topics; "" for nothing.
func (s sample) foot() string {
	var lines []string
	if s.unheld != nil {
		lines = append(lines, fmt.Sprintf("which topics are paused is not known: %v", s.unheld))
	}
	if s.lonely {
		lines = append(lines, "no sidecar says that it lives")
	}
	if len(s.full) > 0 {
		lines = append(lines, fmt.Sprintf("redis is at maxmemory and takes no writes of producers, as %s said within the last minute; jobs that are there run on: sidecar doctor", hostsNamed(s.full)))
	}
	if len(s.unread) > 0 {
		lines = append(lines, fmt.Sprintf("%s whose heartbeat cannot be read (another version?): %s", plural.Of(len(s.unread), "sidecar lives", "sidecars live"), hostsNamed(s.unread)))
	}
	lines = append(lines, seenFirst(s.stale)...)
	if lines = append(lines, unfitLines(s.topics)...); len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// sampler looks at all topics and knows what it saw the last time.
type sampler struct {
	cfg    *config.Config
	rdb    redis.UniversalClient
	stores []*queue.Store // of cfg.Topics
	last   sample
}

func newSampler(cfg *config.Config, rdb redis.UniversalClient) *sampler {
	s := &sampler{cfg: cfg, rdb: rdb}
	for _, t := range cfg.Topics {
		s.stores = append(s.stores, queue.NewStore(rdb, cfg.Redis.KeyPrefix, t.Queue))
	}
	return s
}

func (s *sampler) look(ctx context.Context) sample {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	seen := sample{taken: time.Now()}
	if now, err := s.rdb.Time(ctx).Result(); err == nil {
		seen.at = compat.FormatAt(now, s.cfg.Timezone)
	}
	pauses, now, err := queue.NewPauses(s.rdb, s.cfg.Redis.KeyPrefix).All(ctx)
	if err != nil { // the rest is seen all the same
		seen.unheld, now = err, seen.taken
	}
	beats, unread := queue.NewHeartbeats(s.rdb, s.cfg.Redis.KeyPrefix).All(ctx) // who may not read them sees the rest
	living := queue.Living(beats, now)
	seen.lonely = unread == nil && len(living) == 0
	seen.unread, seen.full = unreadOf(living), refusedOf(living)
	seen.stale = staleOf(living)
	on := heldOnSidecars(living, s.cfg.Timezone)
	seen.topics = s.lines(ctx, beats)
	for i := range seen.topics {
		line := &seen.topics[i]
		line.held = heldBy(s.cfg.Topics[i], pauses, now, s.cfg.Timezone)
		unfit, unserved := unfitOn(living, s.cfg.Topics[i])
		line.Sidecars, line.Unserved = append(on[line.Topic], unfit...), unserved
		if err != nil {
			line.Unknown = err.Error()
		}
		if i < len(s.last.topics) {
			line.PerSecond = changeOf(s.last.topics[i], *line, seen.taken.Sub(s.last.taken))
		}
	}
	s.last = seen
	return seen
}

// lines asks for all topics, in the order of the configuration. The sidecars know of ready's head.
func (s *sampler) lines(ctx context.Context, beats []queue.Heartbeat) []topicStatus {
	lines := make([]topicStatus, len(s.cfg.Topics))
	for i, read := range queue.DepthsOf(ctx, s.stores) {
		read.Depths = read.Depths.WithHead(beats, s.cfg.Topics[i].Name)
		lines[i] = statusOf(s.cfg.Topics[i], read)
	}
	return lines
}

// changeOf returns how a topic changed within d; nil where one of the two is not known.
func changeOf(before, now topicStatus, d time.Duration) *change {
	if before.Error != "" || now.Error != "" || d <= 0 {
		return nil
	}
	rate := func(a, b int64) float64 { return float64(b-a) / d.Seconds() }
	return &change{
		Pool: rate(before.Pool, now.Pool), Ready: rate(before.Ready, now.Ready),
		Running: rate(before.Running, now.Running), Dead: rate(before.Dead, now.Dead),
	}
}
