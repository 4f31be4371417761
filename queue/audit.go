package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// AuditKept is how many audit lines are kept.
const AuditKept = 1000

// auditStep bounds one read of the trail: whoever writes to its key may write long lines.
const auditStep = 500

// The other verbs of audit lines than [VerbReplay], [VerbDrop] and [VerbRequeue].
const (
	VerbUndo    = "undo"
	VerbPause   = "pause"
	VerbResume  = "resume"
	VerbSilence = "silence" // an alarm
)

// Audited is one line of the audit trail: who has done what to how many jobs. It never holds a job's text.
type Audited struct {
	At     time.Time `json:"at"` // by Redis's clock; Add sets it
	By     string    `json:"by"` // "cli ann@web1", "web 127.0.0.1", "alert"
	Verb   string    `json:"verb"`
	Topic  string    `json:"topic,omitempty"`
	Count  int       `json:"count"`
	UUID   string    `json:"uuid,omitempty"`   // of a single job, as compat.PlainUUID has it
	Filter string    `json:"filter,omitempty"` // how the jobs were chosen
	File   string    `json:"file,omitempty"`   // what undoes it
	Note   string    `json:"note,omitempty"`   // anything else a person should know, such as for how long
}

// Audit is the trail of what people, and the sidecar on its own, have done to the queues of one key prefix. All sidecars
// share it: a list in Redis, the newest line first, of which the last 1000 are kept.
type Audit struct {
	rdb redis.UniversalClient
	key string
}

// NewAudit returns the trail under prefix.
func NewAudit(rdb redis.UniversalClient, prefix string) Audit {
	return Audit{rdb: rdb, key: prefix + "sidecar:audit"}
}

// Add writes a line, dated by Redis's clock, also when Redis has no memory left.
func (a Audit) Add(ctx context.Context, line Audited) error {
	now, err := a.rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("add to %s: %w", a.key, err)
	}
	line.At = now.UTC()
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("add to %s: %w", a.key, err)
	}
	if _, err := auditScript.run(ctx, a.rdb, []string{a.key}, string(text), AuditKept); err != nil {
		return fmt.Errorf("add to %s: %w", a.key, err)
	}
	return nil
}

// Recent returns up to n lines, the newest first. What is no line of ours is passed over. Where lines are added meanwhile,
// others may come twice.
func (a Audit) Recent(ctx context.Context, n int) ([]Audited, error) {
	n = min(n, AuditKept)
	var lines []Audited
	for from := 0; from < n; from += auditStep {
		texts, err := a.rdb.LRange(ctx, a.key, int64(from), int64(min(from+auditStep, n)-1)).Result()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", a.key, err)
		}
		lines = append(lines, linesOf(texts)...)
		if len(texts) < auditStep {
			break
		}
	}
	return lines, nil
}

// linesOf reads lines as they lie in the trail.
func linesOf(texts []string) []Audited {
	lines := make([]Audited, 0, len(texts))
	for _, text := range texts {
		var line Audited
		if json.Unmarshal([]byte(text), &line) == nil {
			lines = append(lines, line)
		}
	}
	return lines
}
