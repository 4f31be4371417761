package queue

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// unreadBefore stands before the name of a sidecar in the field that notes since when its heartbeat stands, which cannot be
// read. The fields of a hash have no age of their own, and such a text tells none.
const unreadBefore = "unread:"

// unreadMark is what that field holds. To a sidecar that knows no such marks it is one that has said goodbye.
type unreadMark struct {
	At      time.Time `json:"at"` // when the text was first seen, by Redis's clock
	Stopped bool      `json:"stopped"`
	Sum     string    `json:"sum"` // of the text: another one is a new heartbeat
}

// beatsRead is what one look at the heartbeats finds, and what it leaves behind.
type beatsRead struct {
	now   time.Time
	texts map[string]string // as they lie in Redis

	list  []Heartbeat
	old   []string // fields to take away
	marks []any    // fields and values to write
}

// take reads one field.
func (r *beatsRead) take(instance, text string) {
	if of, isMark := strings.CutPrefix(instance, unreadBefore); isMark {
		if _, there := r.texts[of]; !there {
			r.old = append(r.old, instance)
		}
		return
	}
	b, told := parseBeat(text, r.now)
	if b.Instance = instance; !told {
		b.At = r.standsSince(instance, text)
	}
	if b.Unread && b.Host == "" {
		b.Host = instance
	}
	gone := r.now.Sub(b.At) > goneAfter
	if gone {
		r.old = append(r.old, instance)
	} else {
		r.list = append(r.list, b)
	}
	if _, marked := r.texts[unreadBefore+instance]; marked && (gone || told) {
		r.old = append(r.old, unreadBefore+instance)
	}
}

// standsSince returns since when a text stands that does not tell, and has that noted where it is new. Of very many nothing is
// noted: the notes must not bring the hash over its bound.
func (r *beatsRead) standsSince(instance, text string) time.Time {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(text)) // it never fails
	want := unreadMark{At: r.now, Stopped: true, Sum: fmt.Sprintf("%016x", sum.Sum64())}
	var have unreadMark
	if err := json.Unmarshal([]byte(r.texts[unreadBefore+instance]), &have); err == nil && have.Sum == want.Sum && !have.At.After(r.now) {
		return have.At
	}
	if mark, err := json.Marshal(want); err == nil && len(r.texts)+len(r.marks)/2 < aliveMost/2 {
		r.marks = append(r.marks, unreadBefore+instance, string(mark))
	}
	return want.At
}

// parseBeat reads a heartbeat and reports whether it tells when it was written. Of one that another version wrote in another form
// who it is counts alone, as far as that is understood: the rest may mean something else.
func parseBeat(text string, now time.Time) (b Heartbeat, told bool) {
	err := json.Unmarshal([]byte(text), &b) // it goes on behind a field of another type
	told = !b.At.IsZero() && b.At.Sub(now) < goneAfter
	if err != nil || !told {
		b = Heartbeat{Host: b.Host, PID: b.PID, Version: b.Version, Started: b.Started, At: b.At, Stopped: b.Stopped, Unread: true}
	}
	return b, told
}
