package cli

import (
	"cmp"
	"fmt"
	"time"

	"sidecar/compat"
	"sidecar/internal/config"
	"sidecar/queue"
)

// held is what holds a topic back on all sidecars. Its JSON names are a promise.
type held struct {
	Paused bool   `json:"paused"`
	Kind   string `json:"kind,omitempty"`
	Until  string `json:"until,omitempty"` // as compat.FormatAt writes it
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`

	Sidecars []heldOn `json:"sidecars,omitempty"`     // what single ones hold it back by
	Unserved bool     `json:"unserved,omitempty"`     // sidecars live, and none of them has it
	Unknown  string   `json:"held_unknown,omitempty"` // why nobody can tell whether it is paused

	short string // the end, as a column shows it
}

// heldOn is a breaker that has tripped, or a rate that is reached, on one sidecar, or why it cannot run the topic (unfitFPM …), as
// its last heartbeat told. Its JSON names are a promise.
type heldOn struct {
	Instance string `json:"instance"`
	Host     string `json:"host"`
	Kind     string `json:"kind"`
	Since    string `json:"since,omitempty"` // as compat.FormatAt writes it
	Reason   string `json:"reason,omitempty"`
}

// heldOnSidecars returns what the living sidecars tell of each topic.
func heldOnSidecars(living []queue.Heartbeat, loc *time.Location) map[string][]heldOn {
	on := make(map[string][]heldOn)
	for _, b := range living {
		for _, h := range b.Holds {
			shown := heldOn{Instance: b.Instance, Host: b.Host, Kind: h.Kind.String(), Reason: h.Reason}
			if !h.Since.IsZero() {
				shown.Since = compat.FormatAt(h.Since, loc)
			}
			on[h.Topic] = append(on[h.Topic], shown)
		}
	}
	return on
}

// heldBy returns what holds t back at now: the pause of it, or a window.
func heldBy(t config.Topic, pauses map[string]queue.Pause, now time.Time, loc *time.Location) held {
	var pause *queue.Pause
	if p, ok := pauses[t.Name]; ok {
		pause = &p
	}
	holds := t.Queue.Holds(pause, now, loc)
	if len(holds) == 0 {
		return held{}
	}
	h := holds[0]
	shown := held{Paused: true, Kind: h.Kind.String(), By: h.By, Reason: h.Reason}
	if !h.Until.IsZero() {
		until := h.Until.In(loc)
		shown.Until, shown.short = compat.FormatAt(until, loc), until.Format("15:04")
		if until.Sub(now) > 12*time.Hour {
			shown.short = until.Format("2006-01-02 15:04")
		}
	}
	return shown
}

// mark is the topic's field in a table: the pause, else the breakers, else what keeps sidecars from running it, else the rates.
func (h held) mark() string {
	switch {
	case !h.Paused && h.Unknown != "":
		return "?"
	case !h.Paused:
		unserved := "-"
		if h.Unserved {
			unserved = "no sidecar has it"
		}
		return cmp.Or(h.markOf(queue.HoldBreaker), h.unfitMark(), h.markOf(queue.HoldRate), unserved)
	case h.short == "":
		return "paused"
	}
	return "paused to " + h.short
}

// markOf says on which sidecars a hold of that kind is; "" on none.
func (h held) markOf(kind queue.HoldKind) string {
	if on := h.hostsOn(kind.String()); on != "" {
		return kind.String() + on
	}
	return ""
}

// hostsOn names the sidecars, " on web1", that say something of that kind; "" for none.
func (h held) hostsOn(kind string) string {
	var hosts []string
	for _, on := range h.Sidecars {
		if on.Kind == kind {
			hosts = append(hosts, cell(on.Host))
		}
	}
	switch len(hosts) {
	case 0:
		return ""
	case 1:
		return " on " + hosts[0]
	}
	return fmt.Sprintf(" on %d sidecars", len(hosts))
}
