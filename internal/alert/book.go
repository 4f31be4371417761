package alert

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sidecar/queue"
)

// book is a ledger as it was read for one look, with what the look has changed since.
type book struct {
	ledger       Ledger
	now          time.Time // by its clock
	alarms       map[string]queue.Alarm
	texts        map[string]string // the alarms' fields as they are
	silences     map[string]queue.Silence
	silenceTexts map[string]string
	fault        queue.Fault // of the first change that was not to be made
}

func readBook(ctx context.Context, l Ledger) (*book, error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	b := &book{ledger: l, alarms: make(map[string]queue.Alarm), silences: make(map[string]queue.Silence)}
	var err error
	if b.now, err = l.Now(ctx); err != nil {
		return nil, err
	}
	if b.texts, err = l.Read(ctx, queue.AlertAlarms); err != nil {
		return nil, err
	}
	if b.silenceTexts, err = l.Read(ctx, queue.AlertSilences); err != nil {
		return nil, err
	}
	if b.texts == nil {
		b.texts = make(map[string]string)
	}
	for field, text := range b.texts {
		if a, ok := queue.AlarmOf(field, text); ok {
			b.alarms[field] = a
		}
	}
	for name, text := range b.silenceTexts {
		var s queue.Silence
		if json.Unmarshal([]byte(text), &s) != nil {
			continue
		}
		if isAhead(s.Since, b.now) {
			s.Until = time.Time{} // how much of it has passed nobody knows, and to keep quiet is the worse mistake
		}
		b.silences[name] = s
	}
	return b, nil
}

// alarm returns the alarm in a field, nil if there is none.
func (b *book) alarm(field string) *queue.Alarm {
	if a, ok := b.alarms[field]; ok {
		return &a
	}
	return nil
}

// list returns all alarms, by their fields.
func (b *book) list() (all []queue.Alarm) {
	for _, field := range slices.Sorted(maps.Keys(b.alarms)) {
		all = append(all, b.alarms[field])
	}
	return all
}

// swap writes down what has become of an alarm, unless another sidecar was faster: what that wrote is for the next look.
func (b *book) swap(ctx context.Context, field string, next *queue.Alarm) error {
	text := ""
	if next != nil {
		text = encode(next)
	}
	done, err := b.ledger.Swap(ctx, queue.AlertAlarms, field, b.texts[field], text)
	if err != nil || !done {
		return err
	}
	if next == nil {
		delete(b.alarms, field)
		delete(b.texts, field)
	} else {
		b.alarms[field], b.texts[field] = *next, text
	}
	return nil
}

// silenced reports whether nobody is to be told of the rule or the subject now.
func (b *book) silenced(rule, subject string) bool {
	for _, name := range []string{rule, subject} {
		if s, ok := b.silences[name]; ok && name != "" && b.now.Before(s.Until) {
			return true
		}
	}
	return false
}
