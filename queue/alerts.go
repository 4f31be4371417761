package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Alarm is an alarm as the sidecars of one Redis share it, so that one of them tells of it and not each. Times are by
// Redis's clock.
type Alarm struct {
	Rule     string               `json:"rule"`
	Subject  string               `json:"subject,omitempty"` // the topic, or the FPM pool; "" = Redis as a whole
	Severity string               `json:"severity"`
	Since    time.Time            `json:"since"`         // when its conditions began to hold
	Seen     time.Time            `json:"seen"`          // when a sidecar last saw them hold
	Over     time.Time            `json:"over,omitzero"` // when they were found to hold no more; some targets are to hear of it
	By       string               `json:"by,omitempty"`  // which one saw them last, where each sees its own host's
	Told     map[string]time.Time `json:"told,omitempty"`
	Readings []AlarmReading       `json:"readings"`
}

// AlarmReading is what one condition of a rule was measured against.
type AlarmReading struct {
	Condition string  `json:"condition"`
	Value     float64 `json:"value"` // jobs, seconds or a share; 1 for a condition that is so or not
	Limit     float64 `json:"limit"`
	Why       string  `json:"why,omitempty"`   // for a condition that is so or not: in which way
	Cause     string  `json:"cause,omitempty"` // which of several it is, where the condition has them: CauseFull
}

// CauseFull is the cause of fpm_down where PHP-FPM is there and takes no job: it has no free worker, or hangs.
const CauseFull = "full"

// Silence says that nobody is to be told of a rule's, topic's or pool's alarms for a while.
type Silence struct {
	Until time.Time `json:"until"`
	Since time.Time `json:"since"`
	By    string    `json:"by"`
}

// AlertTarget is how a target of messages fares. One sidecar at a time sends to it.
type AlertTarget struct {
	By       string    `json:"by,omitempty"`       // who sends to it
	Until    time.Time `json:"until,omitzero"`     // for how long nobody else may
	Next     time.Time `json:"next,omitzero"`      // before that nothing is sent to it
	LastSent time.Time `json:"last_sent,omitzero"` // when it last took a message
	Failures int       `json:"failures,omitempty"` // in a row
	Error    string    `json:"error,omitempty"`    // of the last one
}

// AlertKey is one of the hashes in which the sidecars share what they know of alarms.
type AlertKey string

// The hashes.
const (
	AlertAlarms   AlertKey = "sidecar:alert:alarms"   // rule|subject → Alarm
	AlertSilences AlertKey = "sidecar:alert:silences" // name of a rule, topic or pool → Silence
	AlertTargets  AlertKey = "sidecar:alert:targets"  // name → AlertTarget
)

// alertsMost bounds each of the hashes: they are read whole.
const alertsMost = 1000

// ErrAlertsFull reports that a hash of the alarms holds all that it may.
var ErrAlertsFull = errors.New("the hash is full")

// Alerts reads and changes what the sidecars of one Redis share about alarms.
type Alerts struct {
	rdb    redis.UniversalClient
	prefix string
}

// NewAlerts returns the Alerts of a Redis. prefix stands before every key.
func NewAlerts(rdb redis.UniversalClient, prefix string) *Alerts {
	return &Alerts{rdb: rdb, prefix: prefix}
}

// Now returns Redis's time.
func (a *Alerts) Now(ctx context.Context) (time.Time, error) {
	now, err := a.rdb.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read redis's time: %w", err)
	}
	return now.UTC(), nil
}

// Read returns the fields of a hash as they are.
func (a *Alerts) Read(ctx context.Context, key AlertKey) (map[string]string, error) {
	fields, err := a.rdb.HGetAll(ctx, a.prefix+string(key)).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", a.prefix+string(key), err)
	}
	return fields, nil
}

// Swap changes a field, if it still is what was read, and reports whether it was: of several who try one succeeds.
// "" is a field that is absent.
func (a *Alerts) Swap(ctx context.Context, key AlertKey, field, read, next string) (bool, error) {
	reply, err := swapFieldScript.run(ctx, a.rdb, []string{a.prefix + string(key)}, field, read, next, alertsMost)
	if err != nil {
		return false, fmt.Errorf("change %s: %w", a.prefix+string(key), err)
	}
	if n, _ := reply.(int64); n >= 0 {
		return n == 1, nil
	}
	return false, fmt.Errorf("%s: %w: %d fields", a.prefix+string(key), ErrAlertsFull, alertsMost)
}

// AlarmField is the name of an alarm's field. Rules have no | in their names.
func AlarmField(rule, subject string) string { return rule + "|" + subject }

// AlarmOf reads an alarm's field. It reports false for what is none, such as one that a newer sidecar wrote.
func AlarmOf(field, text string) (Alarm, bool) {
	var a Alarm
	rule, subject, ok := strings.Cut(field, "|")
	err := json.Unmarshal([]byte(text), &a)
	return a, ok && err == nil && a.Rule == rule && a.Subject == subject && !a.Since.IsZero()
}
