package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The topics of profile list. Their jobs come as LPUSHes, their dead letters are texts as they were popped.
const (
	topicSharded = "sharded" // two shards; the second retry is at once
	topicAcked   = "acked"   // one list, with acks
)

// shards are the lists of topicSharded.
const shards = 2

// keys are those that a topic's jobs can be in.
type keys struct {
	sets  []string // ZSETs of what waits for a time, and what runs
	lists []string // LISTs of what is ready
	dead  string
}

func keysOf(topic string) keys {
	ours := func(key string) []string { return []string{"sidecar:pool:" + key, "sidecar:running:" + key} }
	switch topic {
	case topicSharded:
		return keys{sets: ours("queue:prod:sharded"), lists: []string{"queue:prod:sharded_0", "queue:prod:sharded_1"}, dead: "queue:prod:dead_sharded"}
	case topicAcked:
		return keys{sets: ours("queue:prod:acked"), lists: []string{"queue:prod:acked"}, dead: "queue:prod:dead_acked"}
	}
	return keys{sets: []string{"delay:pool:" + topic, "delay:running:" + topic}, lists: []string{"delay:ready:" + topic}, dead: "delay:dead:" + topic}
}

// isList reports whether the topic is one of profile list.
func isList(topic string) bool { return topic == topicSharded || topic == topicAcked }

// listTables are those of the two lists in a sidecar's configuration.
var listTables = fmt.Sprintf(`
[list.sharded]
key = "queue:prod:sharded"
shards = %d
dead = "queue:prod:dead_sharded"
retry = ["20ms", "0s"]

[list.acked]
key = "queue:prod:acked"
dead = "queue:prod:dead_acked"
mode = "worker"
idle_timeout = "300ms"
idempotency = "on"
`, shards)

// listText is a job of profile list, as producers write it.
func (j job) listText(n, us int) string {
	return fmt.Sprintf(`{"job_id":"%s","type":"order_timeout","payload":{"order_id":%d,"note":"超时关单 \/ 订单","tags":[]},"retry_count":0,"max_retry":%d,"created_at":1732900000,"fate":"%s","us":%d}`,
		j.uuid, 100000+n, lastTry, j.fate, us)
}

// push is what a producer of the job's topic does with its text.
func (j job) push(ctx context.Context, pipe redis.Pipeliner, due float64, text string) *redis.IntCmd {
	k := keysOf(j.topic)
	if !isList(j.topic) {
		return pipe.ZAdd(ctx, k.sets[0], redis.Z{Score: due, Member: text})
	}
	return pipe.LPush(ctx, k.lists[int(crc32.ChecksumIEEE([]byte(j.uuid)))%len(k.lists)], text)
}

// found is what keys hold, once its pipeline was sent.
type found struct {
	texts []*redis.StringSliceCmd // of jobs that are to run
	dead  *redis.StringSliceCmd
}

func (k keys) find(ctx context.Context, pipe redis.Pipeliner) (f found) {
	for _, set := range k.sets {
		f.texts = append(f.texts, pipe.ZRange(ctx, set, 0, -1))
	}
	for _, list := range k.lists {
		f.texts = append(f.texts, pipe.LRange(ctx, list, 0, -1))
	}
	f.dead = pipe.LRange(ctx, k.dead, 0, -1)
	return f
}

// left returns the uuids of the jobs that are to run, and buried those of the dead ones, each as often as it is there.
func (f found) left() (uuids []string, err error) {
	for _, texts := range f.texts {
		if uuids, err = appendUUIDs(uuids, texts.Val()); err != nil {
			return nil, err
		}
	}
	return uuids, nil
}

func (f found) buried() (uuids []string, err error) { return appendUUIDs(nil, f.dead.Val()) }

// appendUUIDs appends what the texts, claims or dead records are called.
func appendUUIDs(uuids, texts []string) ([]string, error) {
	for _, text := range texts {
		_, after, claim := strings.Cut(text, "\n")
		if claim {
			text = after
		}
		var any struct {
			UUID  string
			JobID string `json:"job_id"`
			Job   struct{ UUID string }
		}
		err := json.Unmarshal([]byte(text), &any)
		uuid := any.UUID + any.JobID + any.Job.UUID
		if err != nil || uuid == "" {
			return nil, fmt.Errorf("the keys hold %s: %w", text, err)
		}
		uuids = append(uuids, uuid)
	}
	return uuids, nil
}
