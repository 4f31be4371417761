package alert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Limit is a condition's bound: it holds above it. One that was not set asks for nothing.
type Limit struct {
	Set   bool
	Above float64
}

// Over returns the limit that holds above n.
func Over(n float64) Limit { return Limit{Set: true, Above: n} }

// String returns the bound, "" where none was set.
func (l Limit) String() string {
	if !l.Set {
		return ""
	}
	return strconv.FormatFloat(l.Above, 'g', -1, 64)
}

// Rule is one [alert.rule.<name>] table. All conditions that it sets must hold at once.
type Rule struct {
	Name    string
	Enabled bool     // enabled
	Topics  []string // topics: which are looked at, each by itself; none = all

	Backlog      Limit // backlog: jobs due and ready
	OldestDue    Limit // oldest_due: seconds
	Dead         Limit // dead: jobs
	DeadPerHour  Limit // dead_per_hour: jobs more in dead than before, within the last hour
	FailedShare  Limit // failed_share: of the runs of the last ten minutes, at least 20 of them; this sidecar's
	PausedFor    Limit // paused_for: seconds for which somebody, or a breaker, has held the topic up
	RedisLatency Limit // redis_latency: seconds
	Stalled      bool  // stalled: work is due and nothing is claimed, or the topic's handler is missing
	FPMDown      bool  // fpm_down: PHP-FPM does not answer, or no child takes jobs
	RedisAway    bool  // redis_away: Redis cannot be reached, or serves nobody

	For          time.Duration // for: how long they must hold
	RecoverAfter time.Duration // recover_after: how long they must not hold any more
	Severity     string        // severity
	Targets      []string      // targets: who is told; none = all
	RepeatEvery  time.Duration // repeat_every: how often it is told again while it goes on; 0 = never
	Recovery     bool          // recovery: its end is told, too
}

// The severities.
const (
	Warning  = "warning"
	Critical = "critical"
)

// DefaultRule returns the defaults of a rule. It has no conditions.
func DefaultRule() Rule {
	return Rule{
		Enabled: true, For: 2 * time.Minute, RecoverAfter: time.Minute,
		Severity: Warning, RepeatEvery: 4 * time.Hour, Recovery: true,
	}
}

// BuiltIn returns the rules that hold where there is a target, by name. A table of that name changes one.
func BuiltIn() []Rule {
	rule := func(name, severity string, hold time.Duration, set func(*Rule)) Rule {
		r := DefaultRule()
		r.Name, r.Severity, r.For = name, severity, hold
		set(&r)
		return r
	}
	return []Rule{
		rule("backlog", Warning, 5*time.Minute, func(r *Rule) { r.Backlog = Over(1000) }), // CONTRACT 2
		rule("dead_per_hour", Warning, 0, func(r *Rule) { r.DeadPerHour = Over(10) }),
		rule("fpm_down", Critical, time.Minute, func(r *Rule) { r.FPMDown = true }),
		rule("oldest_due", Warning, time.Minute, func(r *Rule) { r.OldestDue = Over(300) }),
		rule("redis_away", Critical, 30*time.Second, func(r *Rule) { r.RedisAway = true }),
		rule("stalled", Critical, time.Minute, func(r *Rule) { r.Stalled = true }),
	}
}

// OnlyOldestDue reports that the rule is about how long the oldest due job waits, and nothing else.
func (r Rule) OnlyOldestDue() bool { return r.Enabled && r.OldestDue.Set && len(r.conditions()) == 1 }

// Validate reports every bad option at once. Each fault begins with the option's name.
func (r Rule) Validate() error {
	errs := []error{nameFault(r.Name)}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(r.conditions()) == 0 {
		bad("conditions: want at least one, such as backlog = 1000")
	}
	for _, c := range r.conditions() {
		if c.limit < 0 {
			bad("%s: want zero or more", c.kind)
		}
	}
	if r.FailedShare.Set && r.FailedShare.Above >= 1 {
		bad("failed_share = %v: want a share below 1, such as 0.2 for more than a fifth", r.FailedShare.Above)
	}
	if r.RedisAway && len(r.conditions()) > 1 {
		bad("redis_away: want it alone: without Redis nothing is known of the rest")
	}
	if r.For < 0 || r.For > 24*time.Hour {
		bad("for = %q: want \"0s\" to \"24h\"", r.For)
	}
	if r.RecoverAfter < 0 || r.RecoverAfter > 24*time.Hour {
		bad("recover_after = %q: want \"0s\" to \"24h\"", r.RecoverAfter)
	}
	if r.RepeatEvery != 0 && r.RepeatEvery < time.Minute {
		bad("repeat_every = %q: want at least \"1m\", or \"0s\" for never", r.RepeatEvery)
	}
	if !slices.Contains([]string{Warning, Critical}, r.Severity) {
		bad("severity = %q: want %q or %q", r.Severity, Warning, Critical)
	}
	return errors.Join(errs...)
}
