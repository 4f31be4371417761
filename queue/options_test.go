package queue_test

import (
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// validOptions returns options that hold: the defaults, with a topic and workers.
func validOptions() queue.Options {
	o := queue.DefaultOptions()
	o.Topic, o.Workers = "order_timeout", 8
	return o
}

func TestDefaultOptionsHoldOnceWorkersAreKnown(t *testing.T) {
	if err := validOptions().Validate(); err != nil {
		t.Error(err)
	}
	if err := queue.DefaultOptions().Validate(); err == nil || err.Error() != "workers = 0: want at least 1" {
		t.Errorf("got %v, want the workers to be missing", err)
	}
}

func TestOptionsAtTheirBoundsHold(t *testing.T) {
	o := validOptions()
	o.Workers, o.Lease, o.Retry, o.MaxCrashes = 1, 3*time.Second, nil, 0
	o.ScanInterval, o.Batch, o.ReadyMax = time.Millisecond, 500, 1
	o.ScoreUnit, o.Idempotency = queue.Seconds, queue.IdempotencyLegacy
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.Retry, o.Batch, o.Idempotency = []time.Duration{0}, 1, queue.IdempotencyOn
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestOptionsBeyondTheirBoundsAreAllReported(t *testing.T) {
	o := queue.Options{
		Workers: -1, Lease: 3*time.Second - 1, Retry: []time.Duration{0, -1, -2}, MaxCrashes: -1,
		ScanInterval: time.Millisecond - 1, Batch: 501, ReadyMax: 0, ScoreUnit: "us", Idempotency: "",
	}
	testenv.WantFaults(t, o.Validate(),
		"workers = -1: ", `lease = "2.999999999s": `, `retry[1] = "-1ns": `, `retry[2] = "-2ns": `, "max_crashes = -1: ",
		`scan_interval = "999.999µs": `, "batch = 501: ", "ready_max = 0: ", `score_unit = "us": `, `idempotency = "": `,
		`encoding = "": `, "decode_limit = 0: ")
	o.Batch = 0
	if err := o.Validate(); !strings.Contains(err.Error(), "batch = 0: want 1 to 500") {
		t.Errorf("got %v, want batch 0 refused", err)
	}
}
