package queue

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"sidecar/compat"
)

// Pause is what somebody has asked all sidecars for: to claim nothing of a topic. Its JSON names are a promise: this is
// how it lies in Redis.
type Pause struct {
	At     time.Time `json:"at"`              // when it was asked for, by Redis's clock
	Until  time.Time `json:"until,omitzero"`  // when it ends by itself; zero: when it is taken back
	By     string    `json:"by"`              // who asked, such as "cli root@host"
	Reason string    `json:"reason,omitzero"` // why, in their words
}

// Bounds of what people write into a pause.
const (
	byMost     = 100 // characters
	reasonMost = 200
)

// newPause returns a pause that begins at now, for so long; 0 is until it is taken back.
func newPause(now time.Time, lasts time.Duration, by, reason string) Pause {
	now = now.UTC().Truncate(time.Millisecond)
	p := Pause{At: now, By: plain(by, byMost), Reason: plain(reason, reasonMost)}
	if lasts > 0 {
		p.Until = now.Add(lasts)
	}
	return p
}

// readPause reads what lies in Redis. What somebody wrote there by hand is a pause, too: one that does not say when it
// ends is safer than none.
func readPause(text string) Pause {
	var p Pause
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return Pause{By: "unknown", Reason: plain(text, reasonMost)}
	}
	p.By, p.Reason = plain(p.By, byMost), plain(p.Reason, reasonMost)
	return p
}

func (p Pause) text() string {
	text, _ := json.Marshal(p) // times and texts have a form
	return string(text)
}

// Over reports that the pause has ended by itself.
func (p Pause) Over(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// plain returns text in one line of at most so many characters.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return compat.Cut(strings.TrimSpace(text), most)
}
