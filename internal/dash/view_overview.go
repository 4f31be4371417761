package dash

import "time"

// Seconds is a length of time as JSON has it.
type Seconds float64

// Duration returns s as Go has it.
func (s Seconds) Duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// Profiles of topics.
const (
	ProfileDelay = "delay"
	ProfileList  = "list"
)

// Overview is all that one look shows.
type Overview struct {
	Now      time.Time `json:"now"`     // Redis's time, or this host's while Redis is away
	Version  string    `json:"version"` // the sidecar that answers
	Instance string    `json:"instance"`
	Starting bool      `json:"starting,omitempty"` // nothing is consumed yet
	Stopping bool      `json:"stopping,omitempty"`
	Redis    Redis     `json:"redis"`
	Topics   []Topic   `json:"topics"` // all of them, by name
	Pools    []Pool    `json:"pools"`
	Sidecars []Sidecar `json:"sidecars"`
	Alarms   []Alarm   `json:"alarms"`  // those that fire
	Minutes  []Minute  `json:"minutes"` // of all topics together, as Topic.Minutes

	Incidents []Incident   `json:"incidents,omitempty"` // of the last day, the newest first
	Differ    []Difference `json:"differ,omitempty"`    // topics that sidecars run in different ways
}

// Kinds of incidents, as queue names them.
const (
	IncidentLost       = "lost"
	IncidentUnit       = "unit"
	IncidentUnreadable = "unreadable"
)

// Incident is something that a sidecar has met within a day and that the keys need not tell of any more.
type Incident struct {
	Kind  string    `json:"kind"` // of the constants above
	Topic string    `json:"topic"`
	Text  string    `json:"text"`
	Count int64     `json:"count,omitempty"`
	At    time.Time `json:"at"`
}

// Difference is a topic that two sidecars run in different ways.
type Difference struct {
	Topic string `json:"topic"`
	Text  string `json:"text"` // which sidecars, and by which options
}

// Redis is how the server does.
type Redis struct {
	Up        bool    `json:"up"`
	Error     string  `json:"error,omitempty"` // why not
	Latency   Seconds `json:"latency_seconds"`
	Version   string  `json:"version,omitempty"`
	UsedBytes int64   `json:"used_bytes,omitempty"`
	MaxBytes  int64   `json:"max_bytes,omitempty"` // maxmemory; 0 = none
	Policy    string  `json:"maxmemory_policy,omitempty"`
	Refuses   bool    `json:"refuses_writes,omitempty"` // of producers, for it is full
}

// Topic is a topic or a list at one moment.
type Topic struct {
	Name      string  `json:"name"`
	Profile   string  `json:"profile"`         // ProfileDelay or ProfileList
	Error     string  `json:"error,omitempty"` // Depths and OldestDue are not known, and why
	Depths    Depths  `json:"depths"`
	OldestDue Seconds `json:"oldest_due_seconds"` // for how long the oldest due job has been due; 0: none is
	LateAfter Seconds `json:"late_after_seconds"` // from when on that is late; 0: never
	Pool      string  `json:"fpm"`                // the PHP-FPM pool that runs it
	Mode      string  `json:"mode"`               // request or worker
	Workers   int     `json:"workers"`            // on each sidecar
	Sidecars  int     `json:"sidecars"`           // that live and consume it
	State     State   `json:"state"`
	Recent    Recent  `json:"recent"`

	// Minutes are the last hour, the oldest first, all sidecars together. A minute that nobody kept is missing.
	Minutes []Minute `json:"minutes"`
}

// Depths are how many jobs are in each key. Due are those of the pool whose time has come.
type Depths struct {
	Pool    int64 `json:"pool"`
	Due     int64 `json:"due"`
	Ready   int64 `json:"ready"`
	Running int64 `json:"running"`
	Dead    int64 `json:"dead"`
}

// Waiting is how many jobs could run now.
func (d Depths) Waiting() int64 { return d.Due + d.Ready }

// State is whatever keeps a topic from running. All of it can hold at once.
type State struct {
	Paused       *Paused  `json:"paused,omitempty"`
	Breaker      *Breaker `json:"breaker,omitempty"`
	Shut         []string `json:"shut,omitempty"`    // why its gate is shut, or its pool's
	Looking      bool     `json:"looking,omitempty"` // whether PHP-FPM reaches its code is being looked at for the first time: nothing starts until then
	Stalled      string   `json:"stalled,omitempty"` // why it is thought to be stalled
	Trouble      []string `json:"trouble,omitempty"` // what Redis refuses it
	Backpressure bool     `json:"backpressure,omitempty"`
	Throttled    string   `json:"throttled,omitempty"`  // its rate, while that holds jobs back: "100/s"
	Unconsumed   bool     `json:"unconsumed,omitempty"` // no living sidecar consumes it
}

// ByPerson reports that somebody has paused the topic. A pause window is nobody's.
func (s State) ByPerson() bool { return s.Paused != nil && s.Paused.Window == "" }

// Resumable reports that resuming the topic here ends something: a person's pause, or this sidecar's own breaker.
func (s State) Resumable() bool { return s.ByPerson() || s.Breaker != nil && s.Breaker.Here }

// Paused is a pause: by whom, since when, and until when; a zero Until is "until somebody resumes it".
type Paused struct {
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"`
	Window string    `json:"window,omitempty"` // the pause window of the configuration, when it is none of a person's
}

// Breaker is a break after too many equal failures in a row.
type Breaker struct {
	Failures  int       `json:"failures"`
	Error     string    `json:"error"` // what all of them said
	Since     time.Time `json:"since"`
	NextProbe time.Time `json:"next_probe,omitzero"`
	Here      bool      `json:"here,omitempty"` // on the sidecar that answers: resuming the topic there ends it
}

// Recent sums up what happened: the rates and how long it took, of the last five whole minutes; what was counted, of the last
// hour.
type Recent struct {
	InPerMinute  float64  `json:"in_per_minute"`
	OutPerMinute float64  `json:"out_per_minute"`
	Outcomes     Outcomes `json:"outcomes"`
	DeadPerHour  int64    `json:"dead_per_hour"` // that of the minute under way is in it
	P50          Seconds  `json:"p50_seconds"`   // how long runs took; 0: there were none
	P99          Seconds  `json:"p99_seconds"`
	LateP50      Seconds  `json:"lateness_p50_seconds"` // start of the run minus due time
	LateP99      Seconds  `json:"lateness_p99_seconds"`
}

// Outcomes counts runs by how they ended, under the names of the metric's label: see OutcomeNames.
type Outcomes map[string]int64

// OutcomeNames are the names in Outcomes, in the order in which pages show them.
var OutcomeNames = []string{"done", "deferred", "failed", "timed_out", "crashed", "rejected", "unavailable"}

// Total is how many runs there were.
func (o Outcomes) Total() (n int64) {
	for _, name := range OutcomeNames {
		n += o[name]
	}
	return n
}

// Minute is what happened in one minute, and how it stood at its end.
type Minute struct {
	At        time.Time `json:"at"` // its begin
	In        int64     `json:"in"`
	Out       int64     `json:"out"`
	Outcomes  Outcomes  `json:"outcomes,omitempty"`
	Dead      int64     `json:"dead"` // jobs that were buried
	P50       Seconds   `json:"p50_seconds"`
	P99       Seconds   `json:"p99_seconds"`
	Depths    Depths    `json:"depths"`
	OldestDue Seconds   `json:"oldest_due_seconds"`
}

// Pool is a PHP-FPM pool as one sidecar sees it.
type Pool struct {
	Name     string  `json:"name"`
	Instance string  `json:"instance"` // the sidecar that sees it
	Listen   string  `json:"listen"`
	Down     string  `json:"down,omitempty"`           // why it does not answer, or takes no job
	Full     bool    `json:"full,omitempty"`           // down: it is there and takes no job; it has no free worker, or hangs
	Silent   Seconds `json:"silent_seconds,omitempty"` // for how long jobs have waited for a child and none was taken
	Slots    int     `json:"slots"`                    // of it that jobs may occupy now
	Most     int     `json:"children"`                 // and may occupy at most
	Used     int     `json:"used"`
	Status   *Status `json:"status,omitempty"` // what its status page says; nil: it has none, or it does not answer
}

// Status is FPM's own word.
type Status struct {
	Active     int   `json:"active"`
	Idle       int   `json:"idle"`
	Queue      int   `json:"listen_queue"`
	MaxReached int64 `json:"max_children_reached"`
}

// Sidecar is a process that consumes, or did until a moment ago.
type Sidecar struct {
	Instance string    `json:"instance"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Version  string    `json:"version"`
	Since    time.Time `json:"since"`
	Seen     time.Time `json:"seen"`  // its last heartbeat
	State    string    `json:"state"` // SidecarRunning …
	Reasons  []string  `json:"reasons,omitempty"`
	Looking  bool      `json:"looking,omitempty"` // not ready, and all that is said is that something is being looked at for the first time
	Topics   int       `json:"topics"`
	InHand   int       `json:"in_hand"`
	Memory   int64     `json:"memory_bytes,omitempty"`
	Reload   string    `json:"reload_refused,omitempty"` // why it goes on with the settings of before
}

// States of sidecars.
const (
	SidecarRunning  = "running"
	SidecarNotReady = "not_ready" // alive, and Reasons says why it runs nothing
	SidecarStopping = "stopping"
	SidecarLost     = "lost"   // no heartbeat, and no goodbye
	SidecarUnread   = "unread" // its heartbeat cannot be read: nothing else is known of it
)

// Alarm is a rule that fires, for a topic, for a PHP-FPM pool, or, where it has neither, for Redis as a whole.
type Alarm struct {
	Rule     string    `json:"rule"`
	Topic    string    `json:"topic,omitempty"`
	Pool     string    `json:"fpm,omitempty"`
	Text     string    `json:"text"` // as the log says it
	Readings []Reading `json:"readings"`
	Since    time.Time `json:"since"`
	Muted    bool      `json:"silenced,omitempty"`
}

// Reading is what one condition of an alarm's rule was measured against.
type Reading struct {
	Condition string  `json:"condition"` // the rule's option, such as oldest_due
	Value     float64 `json:"value"`     // jobs, seconds or a share; 1 for a condition that is so or not
	Limit     float64 `json:"limit"`
	Why       string  `json:"why,omitempty"`   // for a condition that is so or not: in which way
	Cause     string  `json:"cause,omitempty"` // "full": PHP-FPM is there and takes no job: no free worker, or it hangs
}
