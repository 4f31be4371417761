package queue_test

import (
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// validListOptions returns options of a list that hold: the defaults, with the keys and workers.
func validListOptions() queue.Options {
	o := validOptions()
	list := queue.DefaultListOptions()
	list.Key, list.Dead = "queue:prod:send_sms", "queue:prod:dead_letter"
	o.List, o.Retry = &list, queue.DefaultListRetry()
	return o
}

func TestDefaultListOptionsHoldOnceTheKeysAreKnown(t *testing.T) {
	if err := validListOptions().Validate(); err != nil {
		t.Error(err)
	}
	testenv.WantFaults(t, queue.DefaultListOptions().Validate(), "key: ", "dead: ")
}

func TestListOptionsAtTheirBoundsHold(t *testing.T) {
	o := validListOptions()
	o.List.Shards, o.List.MaxRetry, o.List.Order = 256, 0, queue.LIFO
	o.Retry, o.Idempotency = []time.Duration{0, time.Hour}, queue.IdempotencyOn
	o.Encoding, o.DecodeLimit = queue.EncodingAuto, 1
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.List.Shards, o.DecodeLimit = 1, 1<<30
	o.List.Key, o.List.Dead = "delayed", "sidecars" // close to what is ours, and not it
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestListOptionsBeyondTheirBoundsAreAllReported(t *testing.T) {
	o := validListOptions()
	*o.List = queue.ListOptions{Key: "sidecar:running:a", Shards: 257, Order: "random", Dead: "delay:dead:a", MaxRetry: -1}
	o.Retry, o.Idempotency = nil, queue.IdempotencyLegacy
	o.Encoding, o.DecodeLimit = "json", 1<<30+1
	testenv.WantFaults(t, o.Validate(), `encoding = "json": `, "decode_limit = 1073741825: ",
		`key = "sidecar:running:a": `, "shards = 257: ", `order = "random": `, `dead = "delay:dead:a": `, "max_retry = -1: ",
		"retry: ", `idempotency = "legacy": want "off" or "on"`)
	testenv.WantFaults(t, queue.ListOptions{Key: "ack:1", Dead: "idem:a", Order: queue.FIFO}.Validate(), `key = "ack:1": `, `dead = "idem:a": `)
	o.List.Shards = -1
	testenv.WantFaults(t, queue.ListOptions{Key: "q", Dead: "d", Order: queue.FIFO, Shards: -1}.Validate(), "shards = -1: ")
}
