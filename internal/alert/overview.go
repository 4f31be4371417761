package alert

import (
	"context"
	"encoding/json"
	"time"

	"sidecar/queue"
)

// Overview is what the sidecars of one Redis share about alarms, to be shown. Its JSON names are a promise.
type Overview struct {
	At       time.Time                    `json:"at"` // by Redis's clock
	Alarms   []Shown                      `json:"alarms"`
	Silences map[string]queue.Silence     `json:"silences"` // by rule, topic or pool; those that are on
	Targets  map[string]queue.AlertTarget `json:"targets"`
}

// Shown is an alarm as it is shown.
type Shown struct {
	queue.Alarm
	State         string    `json:"state"` // firing, or over while targets are still to hear of that
	SilencedUntil time.Time `json:"silenced_until,omitzero"`
	Text          string    `json:"text"` // the readings in words
}

// OfPool reports that a's subject is a PHP-FPM pool. Of a rule that these options do not have, which is another sidecar's, its
// readings tell.
func (o Options) OfPool(a queue.Alarm) bool {
	rule, ok := o.rule(a.Rule)
	if !ok {
		for _, r := range a.Readings {
			rule.FPMDown = rule.FPMDown || kind(r.Condition) == fpmDown
			rule.Stalled = rule.Stalled || kind(r.Condition).ofTopic()
		}
	}
	return rule.scope() == ofPools
}

// Look reads what the sidecars share, for commands and the dashboard.
func Look(ctx context.Context, l Ledger) (Overview, error) {
	b, err := readBook(ctx, l)
	if err != nil {
		return Overview{}, err
	}
	texts, err := l.Read(ctx, queue.AlertTargets)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{At: b.now, Alarms: []Shown{}, Silences: make(map[string]queue.Silence), Targets: make(map[string]queue.AlertTarget)}
	for name, text := range texts {
		var t queue.AlertTarget
		if json.Unmarshal([]byte(text), &t) == nil {
			o.Targets[name] = t
		}
	}
	for name, s := range b.silences {
		if b.now.Before(s.Until) {
			o.Silences[name] = s
		}
	}
	for _, a := range b.list() {
		shown := Shown{Alarm: a, State: "firing", Text: Plain(a.Readings)}
		if !a.Over.IsZero() {
			shown.State = "over"
		}
		for _, name := range []string{a.Rule, a.Subject} {
			if s, on := o.Silences[name]; on && s.Until.After(shown.SilencedUntil) {
				shown.SilencedUntil = s.Until
			}
		}
		o.Alarms = append(o.Alarms, shown)
	}
	return o, nil
}
