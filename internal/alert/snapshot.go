package alert

import (
	"cmp"
	"time"
)

// Snapshot is what one look found.
type Snapshot struct {
	At     time.Time // by this process's monotonic clock
	Redis  Redis
	Topics map[string]Topic
	Pools  map[string]Pool
}

// Redis is how Redis was found.
type Redis struct {
	Away    string        // why it cannot be reached or serves nobody; "" = it does
	Full    string        // why it takes nothing more although it answers; "" = it does
	Latency time.Duration // of one question to it; 0 = not known
}

// Topic is how a topic was found.
type Topic struct {
	Pool      string        // its FPM pool
	Known     bool          // its depths could be read; without that the four that follow say nothing
	Backlog   int64         // due and ready
	OldestDue time.Duration //
	Dead      int64         //
	Stalled   string        // why its jobs do not run although Redis and PHP-FPM answer; "" = they do
	Paused    time.Duration // for how long somebody or a breaker holds it up; 0 = nobody does
	PausedBy  string
	Waits     bool    // as it is meant to: somebody has paused it, or its pause window is on
	Runs      float64 // of this process, so far, that came to a verdict
	Failed    float64 // of them

	grown  window // of dead, by history
	shared window // of runs, likewise
}

// Pool is how an FPM pool was found.
type Pool struct {
	Down string // why its jobs do not run; "" = they do
	Full bool   // it is there and takes no job: no free worker, or it hangs
}

// window is what a stretch of time had.
type window struct {
	value float64
	whole bool // it was watched from end to end; else value is a lower bound
}

// at returns what is known of a subject: of a topic, with its pool; or of a pool.
func (s Snapshot) at(of scope, subject string) (Topic, Pool) {
	switch of {
	case ofTopics:
		t := s.Topics[subject]
		return t, s.Pools[t.Pool]
	case ofPools:
		return Topic{}, s.Pools[subject]
	case ofRedis:
	}
	return Topic{}, Pool{}
}

// value returns what a condition is measured against, why it is so, and whether it is known: a value that is not is more,
// if anything.
func (r Redis) value(k kind, t Topic, p Pool) (value float64, why string, known bool) {
	switch k {
	case backlog:
		return t.amount(float64(t.Backlog))
	case oldestDue:
		return t.amount(t.OldestDue.Seconds())
	case dead:
		return t.amount(float64(t.Dead))
	case deadPerHour:
		return t.grown.value, "", t.grown.whole && t.Known
	case failedShare:
		return t.shared.value, "", t.shared.whole
	case pausedFor:
		return t.Paused.Seconds(), t.PausedBy, true
	case redisLatency:
		return r.Latency.Seconds(), "", r.Latency > 0
	case stalled:
		return yes(t.Stalled)
	case fpmDown:
		return yes(p.Down)
	case redisAway:
		return yes(cmp.Or(r.Away, r.Full))
	}
	return 0, "", false
}

// amount is value for what was read from the topic's keys.
func (t Topic) amount(value float64) (float64, string, bool) {
	if !t.Known {
		return 0, "", false
	}
	return value, "", true
}

// yes is value for what is so or not.
func yes(why string) (float64, string, bool) {
	if why == "" {
		return 0, "", true
	}
	return 1, why, true
}
