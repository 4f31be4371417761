package pulse

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

const (
	// beatEvery is how often the sidecar says that it lives, and looks at its counters.
	beatEvery = 10 * time.Second

	// firstBeats is how often it is tried until the first one was heard.
	firstBeats = time.Second

	// beatPatience bounds one look at Redis.
	beatPatience = 5 * time.Second

	// goodbyePatience bounds the last one: a stop has no time to lose.
	goodbyePatience = 300 * time.Millisecond

	// askFor is for how many minutes a minute of another sidecar is asked for that it has not published.
	askFor = 3
)

// Subject is the sidecar whose pulse is taken, as it is now.
type Subject interface {
	// Heartbeat returns what the sidecar says of itself.
	Heartbeat(ctx context.Context) queue.Heartbeat

	// Readings returns the topics' depths as they were read last.
	Readings() map[string]queue.Reading

	// Peaks returns the greatest measures of each topic since the last call.
	Peaks() map[string]queue.Peaks

	// Meeting returns where the sidecars meet; nil: nowhere yet.
	Meeting() *Server
}

// Pulse keeps the last hour. Its methods but Run may be called by many goroutines.
type Pulse struct {
	gatherer prometheus.Gatherer
	subject  Subject
	log      *slog.Logger

	// Of Run alone.
	last    tally
	current map[string]queue.TopicMinute // of the minute that is under way
	minute  int64                        // which that is; 0: Redis has not told the time yet
	hour    hour
	asked   map[string]map[int64]bool // minutes of others that are known, or were not there
	failing bool
	own     queue.Heartbeat

	met       Server // where the last heartbeat went
	published bool   // a minute of ours lies there

	history atomic.Pointer[History]
	mu      sync.Mutex
	alive   []queue.Heartbeat // guarded by mu
	now     queue.Heartbeat   // guarded by mu: our last one, whose At is Redis's time
	at      time.Time         // guarded by mu: when that was, by the monotonic clock
	kept    Kept              // guarded by mu
}

// New returns the pulse of subject, whose metrics g gathers.
func New(g prometheus.Gatherer, subject Subject, log *slog.Logger) *Pulse {
	p := &Pulse{
		gatherer: g, subject: subject, log: log,
		current: make(map[string]queue.TopicMinute), hour: make(hour), asked: make(map[string]map[int64]bool),
	}
	p.history.Store(&History{})
	p.last, _ = take(g) // what was counted before is nobody's minute
	return p
}

// Server is where the sidecars meet. It may be another one after each reload.
type Server struct {
	Redis  redis.UniversalClient
	Prefix string
}

// Run takes the pulse until ctx is done, then says goodbye.
func (p *Pulse) Run(ctx context.Context) {
	for {
		p.Beat(ctx, p.subject.Meeting())
		wait := beatEvery
		if p.own.At.IsZero() { // nobody has seen it yet
			wait = firstBeats
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			p.leave(context.WithoutCancel(ctx), p.subject.Meeting())
			return
		}
	}
}

// Beat takes the pulse once.
func (p *Pulse) Beat(ctx context.Context, s *Server) {
	ctx, cancel := context.WithTimeout(ctx, beatPatience)
	defer cancel()
	if err := p.count(); err != nil {
		p.log.DebugContext(ctx, "some metrics cannot be gathered", "error", err)
	}
	if s == nil {
		return
	}
	err := p.meet(ctx, s)
	if failing := err != nil; failing != p.failing && ctx.Err() == nil {
		if p.failing = failing; failing {
			p.log.WarnContext(ctx, "the sidecars do not see each other: the dashboard shows this one's numbers alone", "error", err)
		} else {
			p.log.InfoContext(ctx, "the sidecars see each other")
		}
	}
}

// count adds what was counted since the last look to the minute under way.
func (p *Pulse) count() error {
	now, err := take(p.gatherer)
	changed := now.since(p.last)
	for name, peaks := range p.subject.Peaks() { // after the counts: a run that is counted has raised its peak
		d := changed[name]
		d.RunMost, d.LateMost = peaks.Run, peaks.Late
		changed[name] = d
	}
	for name, d := range changed {
		p.current[name] = add(p.current[name], d)
	}
	p.last = now
	return err
}

// meet says that this sidecar lives, publishes a minute that is over, and hears of the others.
func (p *Pulse) meet(ctx context.Context, s *Server) error {
	hearts := queue.NewHeartbeats(s.Redis, s.Prefix)
	before := p.own.At
	if err := p.beat(ctx, hearts); err != nil {
		return err
	}
	p.judge(ctx, s, before)
	alive, err := hearts.All(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.alive = alive
	p.mu.Unlock()
	minutes := queue.NewMinutes(s.Redis, s.Prefix)
	if err := p.turn(ctx, minutes); err != nil {
		return err
	}
	if err := p.hear(ctx, minutes, alive); err != nil {
		return err
	}
	p.sum(alive)
	return nil
}

func (p *Pulse) beat(ctx context.Context, hearts *queue.Heartbeats) error {
	b := p.subject.Heartbeat(ctx)
	b.Started, b.Fresh, b.Refused = p.own.Started, p.fresh(), p.Full()
	asked := time.Now()
	b, err := hearts.Beat(ctx, b)
	if err != nil {
		return err
	}
	if b.Full != p.own.Full {
		p.tellFull(ctx, b.Full)
	}
	p.own = b
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.at = b, asked
	return nil
}

// tellFull says when Redis begins to refuse what producers write, and when that is over. No step of a job may meet it: what
// is in Redis runs on.
func (p *Pulse) tellFull(ctx context.Context, full bool) {
	if full {
		p.log.WarnContext(ctx, "redis is at maxmemory: it takes no writes of producers, jobs that are there run on")
		return
	}
	p.log.InfoContext(ctx, "redis has memory again: it takes writes of producers")
}

// turn closes the minute under way when Redis's clock has gone on, and publishes it.
func (p *Pulse) turn(ctx context.Context, minutes *queue.Minutes) error {
	now := queue.MinuteAt(p.own.At)
	if p.minute == now {
		return nil
	}
	over := p.minute
	p.minute = now
	if over == 0 { // Redis has told the time for the first time
		return nil
	}
	minute := queue.Minute{At: over, RunBounds: p.last.runBounds, LateBounds: p.last.lateBounds, Topics: p.current}
	for name, reading := range p.subject.Readings() {
		topic := minute.Topics[name]
		topic.Depths = &reading
		minute.Topics[name] = topic
	}
	p.current = make(map[string]queue.TopicMinute)
	p.hour.put(p.own.Instance, minute, now)
	err := minutes.Put(ctx, p.own.Instance, minute)
	p.published = p.published || err == nil
	return err
}

// hear reads those minutes of the others that are not known yet.
func (p *Pulse) hear(ctx context.Context, minutes *queue.Minutes, alive []queue.Heartbeat) error {
	heard := make(map[string]bool, len(alive))
	for _, b := range alive {
		heard[b.Instance] = true
		if b.Instance == p.own.Instance || p.own.At.Sub(b.At) > queue.MinutesKept*time.Minute+queue.LostAfter {
			continue
		}
		if err := p.hearOf(ctx, minutes, b.Instance); err != nil {
			return err
		}
	}
	for instance := range p.hour {
		if instance != p.own.Instance && !heard[instance] {
			delete(p.hour, instance)
			delete(p.asked, instance)
		}
	}
	return nil
}

// hearOf reads the minutes of one other. One that it has not published within some minutes it never will; that is known only
// once Redis has answered.
func (p *Pulse) hearOf(ctx context.Context, minutes *queue.Minutes, instance string) error {
	wanted := p.wanted(instance)
	found, err := minutes.Of(ctx, instance, wanted)
	for _, minute := range found {
		p.hour.put(instance, minute, p.minute)
		p.asked[instance][minute.At] = true
	}
	if err != nil {
		return err
	}
	for _, at := range wanted {
		if at < p.minute-askFor {
			p.asked[instance][at] = true
		}
	}
	return nil
}

// wanted returns the minutes to ask another sidecar for.
func (p *Pulse) wanted(instance string) (list []int64) {
	asked := p.asked[instance]
	if asked == nil {
		asked = make(map[int64]bool)
		p.asked[instance] = asked
	}
	for at := range asked {
		if at < p.minute-queue.MinutesKept {
			delete(asked, at)
		}
	}
	for at := p.minute - queue.MinutesKept; at < p.minute; at++ {
		if !asked[at] {
			list = append(list, at)
		}
	}
	return list
}

func (p *Pulse) sum(alive []queue.Heartbeat) {
	history := p.hour.history(p.minute)
	p.addFresh(history, alive)
	p.history.Store(&history)
}

// leave publishes what the last minute has so far, and says goodbye.
func (p *Pulse) leave(ctx context.Context, s *Server) {
	if s == nil || p.own.Instance == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyePatience)
	defer cancel()
	_ = p.count()
	own := p.own
	own.Stopped = true
	if _, err := queue.NewHeartbeats(s.Redis, s.Prefix).Beat(ctx, own); err != nil {
		return // nobody is there to hear it
	}
	minute := queue.Minute{At: p.minute, RunBounds: p.last.runBounds, LateBounds: p.last.lateBounds, Topics: p.current}
	_ = queue.NewMinutes(s.Redis, s.Prefix).Put(ctx, own.Instance, minute)
}
