package alert

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"sidecar/queue"
)

// ledgerPatience bounds the questions that one look asks the ledger.
const ledgerPatience = 5 * time.Second

// looksApart is how many looks of one sidecar an alarm outlasts that only another one sees: they look at different moments.
const looksApart = 3

// Engine looks at the rules and has targets told. Tick is for one goroutine; State is for any.
type Engine struct {
	instance string // who we are to the other sidecars
	client   *http.Client
	metrics  *Metrics
	log      *slog.Logger
	now      func() time.Time

	opts      Options
	own       *Memory // of what no Redis can be told
	pending   map[string]*pending
	unwritten bool // the last look had alarms that could not be written down, as the log was told
	topics    map[string]*history
	couriers  sync.WaitGroup
	apart     string // what keeps this process from sharing alarms, as the log was told
	silences  map[string]queue.Silence
	delivered map[string]bool // by target: its courier is under way; guarded by mu

	mu    sync.Mutex
	state []queue.Alarm            // guarded by mu
	muted map[string]queue.Silence // guarded by mu: silences as of then
	debts []debt                   // guarded by mu
}

// pending is since when a rule's conditions hold, or do not, for one subject; zero when the other is so.
type pending struct{ holds, clear time.Time }

// NewEngine returns an Engine. instance names this process among the sidecars of one Redis.
func NewEngine(instance string, m *Metrics, log *slog.Logger) *Engine {
	return newEngine(instance, newClient(), m, log, time.Now)
}

func newEngine(instance string, client *http.Client, m *Metrics, log *slog.Logger, now func() time.Time) *Engine {
	return &Engine{
		instance: instance, client: client, metrics: m, log: log, now: now,
		own: NewMemory(now), pending: make(map[string]*pending), topics: make(map[string]*history),
		delivered: make(map[string]bool),
	}
}

// Tick looks at the rules of o in what s says, writes down in shared what has changed, and sends couriers to targets that
// are to hear of it. It does not wait for them. Without a target it does nothing.
func (e *Engine) Tick(ctx context.Context, o Options, shared Ledger, s Snapshot) {
	e.configure(o)
	if len(o.Targets) == 0 {
		e.setState(nil)
		return
	}
	e.remember(&s)
	round := e.open(ctx, shared, &s)
	firing, looked := make(map[string]int), make(map[string]bool)
	var state []queue.Alarm
	for _, r := range o.Rules {
		if !r.Enabled {
			continue
		}
		r.RecoverAfter = max(r.RecoverAfter, looksApart*o.Every)
		of := e.bookOf(r, round)
		if of == nil {
			e.keepPending(r, looked)
			continue
		}
		for _, subject := range r.subjects(s) {
			looked[queue.AlarmField(r.Name, subject)] = true
			if a := e.look(ctx, of, r, subject, s); a != nil && a.Over.IsZero() {
				firing[r.Name]++
			}
		}
	}
	maps.DeleteFunc(e.pending, func(field string, _ *pending) bool { return !looked[field] })
	e.unwritten = slices.ContainsFunc(round.books(), func(of *book) bool { return of.fault != 0 })
	for _, of := range round.books() {
		e.tidy(ctx, of)
		state = append(state, of.list()...)
		e.dispatch(ctx, of)
	}
	for _, r := range o.Rules {
		if r.Enabled {
			e.metrics.firing.WithLabelValues(r.Name).Set(float64(firing[r.Name]))
		}
	}
	e.setState(state)
}

// Wait returns when no courier is under way. Cancel the context of Tick before.
func (e *Engine) Wait() { e.couriers.Wait() }

// State returns the alarms there are, those that have just ended included, as the last look found them.
func (e *Engine) State() []queue.Alarm {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Silenced reports that nobody is told of the rule's or the subject's alarms at now, as far as the last look knows.
func (e *Engine) Silenced(rule, subject string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.muted[rule].Until) || now.Before(e.muted[subject].Until)
}

func (e *Engine) setState(state []queue.Alarm) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state, e.muted = state, maps.Clone(e.silences)
}

// configure takes over the options of a reload.
func (e *Engine) configure(o Options) {
	if reflect.DeepEqual(e.opts, o) {
		return
	}
	if len(o.Targets) == 0 {
		e.metrics.keep(e.opts, Options{})
	} else {
		e.metrics.keep(e.opts, o)
	}
	e.opts = o
}

// remember adds the snapshot to what is remembered of each topic, and to the snapshot what only memory can say.
func (e *Engine) remember(s *Snapshot) {
	for name, t := range s.Topics {
		if e.topics[name] == nil {
			e.topics[name] = &history{}
		}
		s.Topics[name] = e.topics[name].add(s.At, t)
	}
	for name := range e.topics {
		if _, ok := s.Topics[name]; !ok {
			delete(e.topics, name)
		}
	}
}

// round is what one look works on.
type round struct{ shared, own *book }

// books returns those that can be read.
func (r round) books() (all []*book) {
	for _, b := range []*book{r.shared, r.own} {
		if b != nil {
			all = append(all, b)
		}
	}
	return all
}

// open reads the books. One that Redis does not show because it is away is none; where this user may not, each
// sidecar keeps its own.
func (e *Engine) open(ctx context.Context, shared Ledger, s *Snapshot) round {
	r := round{own: e.read(ctx, e.own)}
	if s.Redis.Away != "" {
		return r
	}
	var err error
	if r.shared, err = readBook(ctx, shared); err == nil {
		if e.apart != "" {
			e.apart = ""
			e.log.InfoContext(ctx, "alarms are shared with the other sidecars again")
			e.share(ctx, r)
		}
		e.silences = r.shared.silences
		return r
	}
	fault := queue.FaultOf(err)
	if fault.OfServer() || errors.Is(err, context.Canceled) {
		s.Redis.Away = err.Error()
		return r
	}
	if e.apart != err.Error() {
		e.apart = err.Error()
		e.log.WarnContext(ctx, "alarms are not shared with the other sidecars: each tells of what it sees by itself", "error", err)
	}
	r.shared = r.own
	r.own = nil
	return r
}

// share hands over the alarms that this process had to keep for itself: else nobody would ever look whether they are over.
func (e *Engine) share(ctx context.Context, r round) {
	for field, a := range maps.Clone(r.own.alarms) {
		if rule, ok := e.opts.rule(a.Rule); ok && rule.RedisAway {
			continue
		}
		if r.shared.alarm(field) == nil {
			_ = r.shared.swap(ctx, field, &a) // else it is seen anew, and told again
		}
		_ = r.own.swap(ctx, field, nil) // in memory it never fails
	}
}

// read reads this process's own book.
func (e *Engine) read(ctx context.Context, own *Memory) *book {
	b, err := readBook(ctx, own)
	if err != nil { // it never does
		return nil
	}
	b.silences = e.silences // as they were when Redis last showed them
	return b
}

// bookOf returns where the rule's alarms are kept; nil when that cannot be reached, so that nothing is known of them.
func (e *Engine) bookOf(r Rule, in round) *book {
	if r.RedisAway && in.own != nil {
		return in.own
	}
	return in.shared
}

// keepPending counts a rule's subjects as looked at while nothing can be known of them. That they are clear is to be seen anew
// afterwards: others who saw the conditions hold could not say so, either.
func (e *Engine) keepPending(r Rule, looked map[string]bool) {
	for field := range e.pending {
		if strings.HasPrefix(field, queue.AlarmField(r.Name, "")) {
			looked[field] = true
			e.pending[field].clear = time.Time{}
		}
	}
}

// look judges a rule for one subject and writes down what has changed. It returns the alarm there is then, if any.
func (e *Engine) look(ctx context.Context, of *book, r Rule, subject string, s Snapshot) *queue.Alarm {
	field := queue.AlarmField(r.Name, subject)
	old := of.alarm(field)
	v, readings := r.judge(subject, s, old != nil && old.Over.IsZero())
	p := e.pending[field]
	if p == nil {
		p = &pending{}
		e.pending[field] = p
	}
	p.note(v, s.At)
	seen := sight{
		rule: r, subject: subject, readings: readings,
		holds: v == holds, held: since(p.holds, s.At),
		firm:     v == holds && since(p.holds, s.At) >= r.For,
		calm:     !p.clear.IsZero() && since(p.clear, s.At) >= r.RecoverAfter,
		silenced: of.silenced(r.Name, subject),
	}
	if r.isOwn() {
		seen.by = e.instance
	}
	next := step(old, seen, of.now)
	if next == old {
		return old
	}
	if of.fault.OfServer() {
		return old // each would wait as long as the one before it
	}
	if err := of.swap(ctx, field, next); err != nil {
		if of.fault == 0 && !e.unwritten {
			e.log.WarnContext(ctx, "an alarm cannot be written down, others maybe neither", "rule", r.Name, "subject", subject, "error", err)
		}
		of.fault = queue.FaultOf(err)
		return old
	}
	e.report(ctx, old, next)
	return of.alarm(field)
}

// note keeps since when the conditions hold or do not. What is unknown changes nothing of that, and begins nothing.
func (p *pending) note(v verdict, at time.Time) {
	switch v {
	case holds:
		p.clear = time.Time{}
		if p.holds.IsZero() {
			p.holds = at
		}
	case clear:
		p.holds = time.Time{}
		if p.clear.IsZero() {
			p.clear = at
		}
	case unknown:
		p.clear = time.Time{}
	}
}

// since returns for how long something has been so; 0 when it is not.
func since(begin, now time.Time) time.Duration {
	if begin.IsZero() {
		return 0
	}
	return now.Sub(begin)
}

// report logs that an alarm began or ended.
func (e *Engine) report(ctx context.Context, old, next *queue.Alarm) {
	switch {
	case next != nil && next.Over.IsZero() && (old == nil || !old.Over.IsZero()):
		e.log.WarnContext(ctx, "alarm", "rule", next.Rule, "subject", next.Subject, "readings", Plain(next.Readings))
	case old != nil && old.Over.IsZero() && (next == nil || !next.Over.IsZero()):
		e.log.InfoContext(ctx, "alarm is over", "rule", old.Rule, "subject", old.Subject)
	}
}

// tidy deletes alarms whose rule or topic is in no configuration any more, and silences that have ended: the hashes are
// bounded. Another sidecar's alarms are not ours to judge, unless nobody has for long.
func (e *Engine) tidy(ctx context.Context, of *book) {
	for field, a := range of.alarms {
		if of.now.Sub(a.Seen).Abs() > overMost && of.now.Sub(a.Over).Abs() > overMost && e.pending[field] == nil {
			_ = of.swap(ctx, field, nil) // the next look tries again
		}
	}
	for name, silence := range of.silences {
		if of.now.After(silence.Until) {
			_, _ = of.ledger.Swap(ctx, queue.AlertSilences, name, of.silenceTexts[name], "")
		}
	}
}

// encode writes a value as the ledger keeps it.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
