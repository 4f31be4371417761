package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// MinutesKept is how many minutes of a sidecar are kept: an hour, in as many fields.
	MinutesKept = 60

	// minutesLast is how long they stay when no further one comes.
	minutesLast = 2 * time.Hour

	// minutesAtOnce bounds one read: a minute of 200 topics is some 60 KB.
	minutesAtOnce = 10
)

// Minute is what one sidecar saw in one minute. Its JSON names are a promise: this is how it lies in Redis.
type Minute struct {
	At         int64                  `json:"at"` // its begin by Redis's clock, in minutes since the epoch
	RunBounds  []float64              `json:"run_bounds,omitempty"`
	LateBounds []float64              `json:"late_bounds,omitempty"`
	Topics     map[string]TopicMinute `json:"topics"` // those of which something was seen
}

// TopicMinute is one topic's part of a Minute.
type TopicMinute struct {
	Outcomes map[string]int64 `json:"outcomes,omitempty"` // under the names of the metric's label
	Left     int64            `json:"left,omitempty"`     // jobs that were done with, or are dead: they wait no more
	Dead     int64            `json:"dead,omitempty"`     // of these
	Run      []int64          `json:"run,omitempty"`      // runs by RunBounds; one more entry for those above
	Late     []int64          `json:"late,omitempty"`     // the same by LateBounds
	Depths   *Reading         `json:"depths,omitempty"`   // at its end, nil where Redis did not tell

	RunMost  float64 `json:"run_most_seconds,omitempty"`  // the greatest of Run; 0: nobody kept it
	LateMost float64 `json:"late_most_seconds,omitempty"` // likewise
}

// Reading is how many jobs were in each key at one moment.
type Reading struct {
	Pool      int64   `json:"pool"`
	Due       int64   `json:"due"`
	Ready     int64   `json:"ready"`
	Running   int64   `json:"running"`
	Dead      int64   `json:"dead"`
	OldestDue float64 `json:"oldest_due_seconds,omitempty"`
}

// Minutes are the last hours of all sidecars of one Redis: a hash sidecar:minutes:<instance> each, whose fields are the
// minutes of the hour, written over and over.
type Minutes struct {
	rdb    redis.UniversalClient
	prefix string
}

// NewMinutes returns the minutes of a Redis. prefix stands before every key.
func NewMinutes(rdb redis.UniversalClient, prefix string) *Minutes {
	return &Minutes{rdb: rdb, prefix: prefix + "sidecar:minutes:"}
}

// Put writes a minute of a sidecar in the place of the one an hour before.
func (m *Minutes) Put(ctx context.Context, instance string, minute Minute) error {
	key := m.prefix + instance
	text, err := json.Marshal(minute)
	if err != nil {
		return fmt.Errorf("write to %s: %w", key, err)
	}
	_, err = m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, minuteField(minute.At), text)
		p.Expire(ctx, key, minutesLast)
		return nil
	})
	if err != nil {
		return fmt.Errorf("write to %s: %w", key, err)
	}
	return nil
}

// Of returns those of the given minutes that a sidecar has kept.
func (m *Minutes) Of(ctx context.Context, instance string, at []int64) (found []Minute, err error) {
	key := m.prefix + instance
	for len(at) > 0 {
		page := at[:min(minutesAtOnce, len(at))]
		at = at[len(page):]
		fields := make([]string, len(page))
		for i, minute := range page {
			fields[i] = minuteField(minute)
		}
		texts, err := m.rdb.HMGet(ctx, key, fields...).Result()
		if err != nil {
			return found, fmt.Errorf("read %s: %w", key, err)
		}
		for i, text := range texts {
			var minute Minute
			s, _ := text.(string)
			if json.Unmarshal([]byte(s), &minute) == nil && minute.At == page[i] { // else of another hour, or none
				found = append(found, minute)
			}
		}
	}
	return found, nil
}

// Any reports that some of a sidecar's are there.
func (m *Minutes) Any(ctx context.Context, instance string) (bool, error) {
	n, err := m.rdb.Exists(ctx, m.prefix+instance).Result()
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", m.prefix+instance, err)
	}
	return n > 0, nil
}

// MinuteAt returns which minute it is at t, counted as [Minute.At] is.
func MinuteAt(t time.Time) int64 { return int64(t.Sub(time.Unix(0, 0)) / time.Minute) }

func minuteField(at int64) string { return strconv.FormatInt(at%MinutesKept, 10) }
