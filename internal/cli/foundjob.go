package cli

import (
	"time"

	"sidecar/compat"
	"sidecar/internal/stage"
	"sidecar/queue"
)

// foundJob is one job where it was found. Its JSON names are a promise.
type foundJob struct {
	Topic   string `json:"topic"`
	Profile string `json:"profile"`
	Place   string `json:"place"`
	Key     string `json:"key"`
	UUID    string `json:"uuid"`
	Name    string `json:"name,omitempty"` // of dead, where it has no uuid: what the verbs take for one
	Type    string `json:"type,omitempty"`
	Tries   int    `json:"tries"`
	Crashes int    `json:"crashes"`
	Error   string `json:"error,omitempty"`

	Due       string `json:"due,omitempty"`        // pool, in the configuration's time zone
	LeaseEnds string `json:"lease_ends,omitempty"` // running, likewise
	Claimed   string `json:"claimed,omitempty"`    // running, likewise: when it was, until its lease is renewed; "" while sidecars have leases of several lengths
	Since     string `json:"since,omitempty"`      // running, likewise: since when, as its sidecar said last
	Host      string `json:"host,omitempty"`       // that sidecar's
	PID       int    `json:"pid,omitempty"`        // of the PHP that runs it
	DeadSince string `json:"dead_since,omitempty"` // dead, likewise
	Bytes     int    `json:"bytes"`                // of the job's text

	turn stage.Turn // when it runs among the others that were found

	Meaning string `json:"meaning"`           // why it is there, in words
	Payload string `json:"payload,omitempty"` // its text, where it was asked for
}

// job is e as it is shown, as it was at now; 0: nobody knows.
func (s situation) job(e queue.Entry, now queue.ServerTime) foundJob {
	j := foundJob{
		Topic: s.topic.Name, Profile: s.topic.Profile(), Place: string(e.Place), Key: s.topic.Queue.KeysAt(s.cfg.Redis.KeyPrefix, e.Place)[e.Shard],
		UUID: compat.PlainUUID(e.UUID), Type: e.Type, Tries: e.Tries, Crashes: e.Crashes, Error: e.Error, Bytes: len(e.Job),
	}
	j.Meaning = s.meaning(e, now)
	j.turn = s.turn(e)
	switch e.Place {
	case queue.InPool:
		j.Due = s.at(e.Due)
	case queue.InReady:
	case queue.InRunning:
		j.LeaseEnds = s.at(e.Lease)
		if first, last := s.leases(now).Claimed(e); first == last {
			j.Claimed = s.at(first)
		}
		if run, found := s.consumers.run(s.topic.Name, e.UUID); found {
			j.Since, j.Host, j.PID = compat.FormatAt(run.since, s.cfg.Timezone), cell(run.host), run.PID
		}
	case queue.InDead:
		j.DeadSince = e.At
		if e.UUID == "" {
			j.Name = e.Name()
		}
	}
	if !e.Readable && e.Place != queue.InDead {
		j.Meaning += "; it is no job, so it will go to dead"
	}
	return j
}

// at is a time as it is shown; "" where it is none.
func (s situation) at(t queue.ServerTime) string {
	if t <= 1 {
		return ""
	}
	return compat.FormatAt(t.In(s.cfg.Timezone), s.cfg.Timezone)
}

// turn is when e runs among others.
func (s situation) turn(e queue.Entry) stage.Turn {
	t := stage.Turn{Topic: s.topic.Name, Place: string(e.Place), Never: e.IsNever(), Due: e.Due.In(time.UTC), Lease: e.Lease.In(time.UTC)}
	switch e.Place {
	case queue.InReady:
		t.Ahead = s.topic.Queue.Ahead(e)
	case queue.InDead:
		t.Died, _ = time.ParseInLocation(time.DateTime, e.At, s.cfg.Timezone) // nobody knows of a record that says no time
	case queue.InPool, queue.InRunning:
	}
	return t
}
