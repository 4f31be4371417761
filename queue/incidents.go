package queue

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// IncidentKind says what an Incident is about.
type IncidentKind string

// The kinds. They lie so in Redis.
const (
	// IncidentLost: Redis came back from a restart with fewer jobs than it had, or was emptied: then its detail is [Emptied].
	IncidentLost IncidentKind = "lost"
	// IncidentUnit: jobs were promoted, or come next, whose scores make sense in another unit only.
	IncidentUnit IncidentKind = "unit"
	// IncidentUnreadable: texts that are no jobs went to dead.
	IncidentUnreadable IncidentKind = "unreadable"
)

// Emptied is the detail of jobs that are lost without a restart that could be seen.
const Emptied = "emptied"

// Incident is something that a sidecar has met and that the keys need not tell of any more. Of each kind and topic the last
// one is kept, for a day. Its JSON names are a promise: this is how it lies in Redis.
type Incident struct {
	Kind   IncidentKind `json:"kind"`
	Topic  string       `json:"topic"`
	Detail string       `json:"detail,omitempty"` // of unit: what the scores seem to be in; of unreadable: why the last one is no job; of lost: "" or [Emptied]
	Count  int64        `json:"count,omitempty"`  // of lost: jobs that are gone; of unreadable: texts
	Of     int64        `json:"of,omitempty"`     // of lost: jobs there were
	Ago    float64      `json:"ago_seconds"`      // how long before the heartbeat it was, the last time
}

// When returns when that was, by Redis's clock, of an incident that b tells of.
func (b Heartbeat) When(i Incident) time.Time {
	return b.At.Add(-time.Duration(i.Ago * float64(time.Second)))
}

const (
	// incidentsMost bounds what a heartbeat tells of them.
	incidentsMost = 50

	// incidentLasts is for how long one is told of.
	incidentLasts = 24 * time.Hour

	// detailMost bounds one's detail, in bytes.
	detailMost = 200
)

// Incidents are those that one sidecar has met. None are kept in a nil one.
type Incidents struct {
	mu   sync.Mutex
	list []incidentAt // guarded by mu: the last one of each kind and topic, oldest first
}

// incidentAt is an Incident and when it was, by the monotonic clock.
type incidentAt struct {
	Incident
	at time.Time
}

// NewIncidents returns those of a sidecar that has met none yet.
func NewIncidents() *Incidents { return new(Incidents) }

// Note keeps i, which has just happened, in the place of the last one of its kind and topic; texts that are unreadable are
// counted on.
func (in *Incidents) Note(i Incident) {
	if in == nil {
		return
	}
	if len(i.Detail) > detailMost {
		i.Detail = strings.ToValidUTF8(i.Detail[:detailMost], "") + "…"
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forgetLocked()
	same := func(have incidentAt) bool { return have.Kind == i.Kind && have.Topic == i.Topic }
	if at := slices.IndexFunc(in.list, same); at >= 0 {
		if i.Kind == IncidentUnreadable {
			i.Count += in.list[at].Count
		}
		in.list = slices.Delete(in.list, at, at+1)
	}
	in.list = append(in.list, incidentAt{i, time.Now()})
	in.list = in.list[max(0, len(in.list)-incidentsMost):]
}

// List returns those of a day, the oldest first.
func (in *Incidents) List() (list []Incident) {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forgetLocked()
	for _, one := range in.list {
		one.Ago = time.Since(one.at).Seconds()
		list = append(list, one.Incident)
	}
	return list
}

func (in *Incidents) forgetLocked() {
	in.list = slices.DeleteFunc(in.list, func(one incidentAt) bool { return time.Since(one.at) > incidentLasts })
}

// IncidentSeen is an incident, when it was, and on which host.
type IncidentSeen struct {
	Incident
	At   time.Time // by Redis's clock
	Host string
}

// IncidentsOf returns what all sidecars have met within a day before now, also those that are gone: of each kind and topic the
// last, the newest first.
func IncidentsOf(beats []Heartbeat, now time.Time) (all []IncidentSeen) {
	for _, b := range beats {
		for _, i := range b.Incidents {
			if at := b.When(i); now.Sub(at) <= incidentLasts {
				all = append(all, IncidentSeen{i, at, b.Host})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y IncidentSeen) int { return y.At.Compare(x.At) })
	type name struct {
		kind  IncidentKind
		topic string
	}
	had := map[name]bool{}
	return slices.DeleteFunc(all, func(i IncidentSeen) bool {
		n := name{i.Kind, i.Topic}
		again := had[n]
		had[n] = true
		return again
	})
}
