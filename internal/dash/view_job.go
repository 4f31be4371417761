package dash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// The keys of a topic, as pages and JSON name them.
const (
	KeyPool    = "pool"
	KeyReady   = "ready"
	KeyRunning = "running"
	KeyDead    = "dead"
)

// Keys are the names of a topic's keys, in the order in which a job passes through them.
var Keys = []string{KeyPool, KeyReady, KeyRunning, KeyDead}

// TopicView is one topic and what it is set to.
type TopicView struct {
	Now     time.Time `json:"now"`
	Topic   Topic     `json:"topic"`
	Options []Option  `json:"options"` // those that matter, first those that are not the default
	RedisAt []KeyName `json:"keys"`    // where it lies in Redis
	Routes  []Option  `json:"routes,omitempty"`
}

// Option is an option of the configuration as it would be written there.
type Option struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default bool   `json:"default,omitempty"` // it was not set
}

// KeyName says which key of Redis plays which role.
type KeyName struct {
	Role string `json:"role"` // of Keys
	Key  string `json:"key"`
}

// JobsQuery asks for a page of a key.
type JobsQuery struct {
	Topic  string     `json:"topic"`
	Key    string     `json:"key"`              // of Keys
	Cursor string     `json:"cursor,omitempty"` // JobsPage.Next; "" = from the start
	Limit  int        `json:"limit,omitempty"`  // 0 = 50; at most 200
	Filter DeadFilter `json:"filter,omitzero"`  // dead only
}

// DeadFilter narrows dead jobs down. All that is set must hold.
type DeadFilter struct {
	Error string    `json:"error,omitempty"` // part of the error, without regard to case
	Like  string    `json:"like,omitempty"`  // an error that theirs is like but for numbers: Cause.Error, or a whole one
	Type  string    `json:"type,omitempty"`  // lists: the job's type
	UUID  string    `json:"uuid,omitempty"`
	From  time.Time `json:"from,omitzero"` // buried at that time or later
	To    time.Time `json:"to,omitzero"`   // buried before
}

// eldest is the year before which no bound is taken: jobs died later, and the zero time, of the year 1, would be no bound at all.
const eldest = 1970

// CheckBound refuses a time that cannot be meant as a bound.
func CheckBound(at time.Time) error {
	if at.Year() < eldest {
		return fmt.Errorf("want a time not before %d, got one of the year %d", eldest, at.Year())
	}
	return nil
}

// UnmarshalJSON reads a filter. A bound that is given has to be one: a zero time would let everything through.
func (f *DeadFilter) UnmarshalJSON(text []byte) error {
	type plainFilter DeadFilter
	var given struct {
		plainFilter
		From *time.Time `json:"from"`
		To   *time.Time `json:"to"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // as whoever reads an order does
	if err := decoder.Decode(&given); err != nil {
		return err
	}
	*f = DeadFilter(given.plainFilter)
	for _, bound := range []struct {
		name string
		from *time.Time
		to   *time.Time
	}{{"from", given.From, &f.From}, {"to", given.To, &f.To}} {
		if bound.from == nil {
			continue
		}
		if err := CheckBound(*bound.from); err != nil {
			return fmt.Errorf("filter: %s: %w", bound.name, err)
		}
		*bound.to = *bound.from
	}
	return nil
}

// IsZero reports that nothing is narrowed down.
func (f DeadFilter) IsZero() bool { return f == DeadFilter{} }

// JobsPage is a page of a key: of the pool the earliest due first, of ready the next to run first, of running the first
// lease to end first, of dead the newest first.
type JobsPage struct {
	Now    time.Time `json:"now"`
	Jobs   []JobRow  `json:"jobs"`
	Next   string    `json:"next,omitempty"`  // cursor of the page behind it; "" = this is the last
	Looked int64     `json:"looked"`          // how many were looked at to find these: a filter may find few in many
	Total  int64     `json:"total"`           // in the key
	Causes Causes    `json:"causes,omitzero"` // of dead, on the first page without a filter
}

// Causes are what the newest dead jobs died of, the most frequent first.
type Causes struct {
	Of   int64   `json:"of"`             // so many were looked at, at most 10 s ago
	More bool    `json:"more,omitempty"` // there are others
	List []Cause `json:"list"`
}

// Cause counts dead jobs whose errors differ by numbers alone.
type Cause struct {
	Error string    `json:"error"` // each word that has a digit in it is #
	Count int64     `json:"count"`
	First time.Time `json:"first,omitzero"` // when the oldest of them died
	Last  time.Time `json:"last,omitzero"`
}

// Grouped reports that some of the jobs died of one cause.
func (c Causes) Grouped() bool { return len(c.List) > 0 && c.List[0].Count > 1 }

// JobRow is one job in a list. What is not known is zero.
type JobRow struct {
	Ref     string    `json:"ref"` // finds it again: opaque, safe in a URL, without any of its text
	Topic   string    `json:"topic"`
	Key     string    `json:"key"` // of Keys
	UUID    string    `json:"uuid,omitempty"`
	Type    string    `json:"type,omitempty"`
	Tries   int       `json:"tries"`
	Crashes int       `json:"crashes"`
	Size    int       `json:"size"`                // bytes of its text
	Due     time.Time `json:"due,omitzero"`        // pool; zero also where it always has been
	Never   bool      `json:"never_due,omitempty"` // pool: its score is no time
	Ahead   int64     `json:"-"`                   // ready: how many come before it, when it was read
	Created time.Time `json:"created,omitzero"`    // by its own word
	Started time.Time `json:"started,omitzero"`    // running, where its sidecar tells
	Lease   time.Time `json:"lease,omitzero"`      // running: until when
	PID     int       `json:"pid,omitempty"`       // running: the PHP process, where its sidecar tells
	Holder  string    `json:"holder,omitempty"`    // running: which sidecar
	Died    time.Time `json:"died,omitzero"`       // dead: when

	Old       bool `json:"old_consumer,omitempty"` // running: an old consumer holds it, which renews no lease
	Unrenewed bool `json:"unrenewed,omitempty"`    // running: it should have been renewed, and was not

	Error  string `json:"error,omitempty"` // dead: why; else what the last try said
	Unread string `json:"unreadable,omitempty"`
}

// JobView is all that is known of one job.
type JobView struct {
	Now       time.Time   `json:"now"`
	Row       JobRow      `json:"job"`
	State     State       `json:"state"`     // its topic's
	Ahead     int64       `json:"ahead"`     // ready, pool and due: how many come before it; -1 = not known
	Slots     int         `json:"slots"`     // how many jobs of its topic run at once
	MaxTries  int         `json:"max_tries"` // how many retries it gets; -1 = not known
	Trace     string      `json:"trace,omitempty"`
	LastError string      `json:"last_error,omitempty"`
	Payload   Payload     `json:"payload"`
	History   []Event     `json:"history"` // the oldest first
	Audit     []AuditLine `json:"audit,omitempty"`
	Mark      string      `json:"mark,omitempty"` // what its idempotency mark says
	RedisKey  string      `json:"redis_key"`
}

// Payload is a job's text, for those who may see it.
type Payload struct {
	Shown  bool   `json:"shown"`            // false: Pretty and Raw are empty, since nobody may see them
	Pretty string `json:"pretty,omitempty"` // indented JSON, fields masked, \uXXXX and \/ as they read; "" when the text is no JSON
	Raw    string `json:"raw,omitempty"`    // as it stands in Redis, masked likewise; bytes that are no UTF-8 are replaced
	Masked int    `json:"masked"`           // how many fields are masked
	Form   string `json:"form,omitempty"`   // how it is wrapped: "igbinary+lz4"
	Size   int    `json:"size"`             // bytes
	Cut    bool   `json:"cut,omitempty"`    // only its beginning is shown
}

// Event is a step of a job's life.
type Event struct {
	At   time.Time `json:"at,omitzero"` // zero: not known
	What string    `json:"what"`        // of EventCreated …
	Text string    `json:"text,omitempty"`
	N    int       `json:"n,omitempty"`
}

// Events.
const (
	EventCreated  = "created"
	EventDue      = "due"
	EventTried    = "tried"   // failed N times; Text is what the last one said
	EventCrashed  = "crashed" // N times without a verdict
	EventStarted  = "started"
	EventDied     = "died" // Text is why
	EventReplayed = "replayed"
)

// SearchQuery asks for a step of a search.
type SearchQuery struct {
	UUID   string `json:"uuid,omitempty"`   // the whole of it, or
	Prefix string `json:"prefix,omitempty"` // what it begins with, or
	Text   string `json:"text,omitempty"`   // what its text has in it, as it is shown, or
	Field  string `json:"field,omitempty"`  // name=value: what a field of its text holds, as it is shown. Both only for whom texts are shown to
	Topic  string `json:"topic,omitempty"`  // "" = all
	Cursor string `json:"cursor,omitempty"` // SearchStep.Next; "" = from the start
	Limit  int    `json:"limit,omitempty"`  // rows that are enough for one step; 0 = 100
}

// SearchStep is what one step found.
type SearchStep struct {
	Now    time.Time `json:"now"`
	Found  []JobRow  `json:"found"`
	Next   string    `json:"next,omitempty"` // "" = all was looked through
	Looked int64     `json:"looked"`         // since the search's start
	Total  int64     `json:"total"`          // jobs to look through, by what is known now
	Topic  string    `json:"topic,omitempty"`
	Key    string    `json:"key,omitempty"` // where it looked last

	// ByHand is what was done by hand, the newest first, to the job of a uuid of which this last step has found nothing: to it alone, else to
	// several, which it may have been among.
	ByHand []AuditLine `json:"by_hand,omitempty"`
}
