package compat_test

import (
	"slices"
	"strconv"
	"testing"

	"sidecar/compat"
	"sidecar/internal/testenv/wire"
)

// The list with shards that the vectors push to.
const (
	producerList   = "queue:prod:send_sms"
	producerShards = 8
)

// What the PHP client's producer writes is read here as it was meant there.
func TestJobsOfThePHPProducer(t *testing.T) {
	for _, v := range vectors(t, "producer") {
		t.Run(v["case"], func(t *testing.T) {
			job := parseProduced(t, v)
			if job.Raw() != v["text"] {
				t.Errorf("text changed to %s", job.Raw())
			}
			if got := job.UUID(); got != v["uuid"] {
				t.Errorf("uuid %q, want %q", got, v["uuid"])
			}
			if got, want := job.Tries(), v.Int(t, "tries"); got != want {
				t.Errorf("%d tries, want %d", got, want)
			}
			if err := job.PHPError(); err != nil {
				t.Errorf("PHP would not read it: %v", err)
			}
		})
	}
}

func TestTypesAndRetriesOfThePHPProducersLists(t *testing.T) {
	for _, v := range producedFor(t, "list") {
		job := parseProduced(t, v)
		if got := job.Type(); got != v["type"] {
			t.Errorf("%s: type %q, want %q", v["case"], got, v["type"])
		}
		n, ok := job.MaxRetry()
		if want, has := v["max retry"]; ok != has || has && strconv.Itoa(n) != want {
			t.Errorf("%s: max retry %d (%t), want %q", v["case"], n, ok, want)
		}
	}
}

func TestKeysOfThePHPProducer(t *testing.T) {
	topics := map[string]bool{}
	for _, topic := range []string{"order_timeout", "{mail}"} {
		topics[compat.NewDelayKeys("", topic).Pool] = true
	}
	for _, v := range producedFor(t, "delay") {
		if !topics[v["key"]] {
			t.Errorf("%s: key %q is no pool of %v", v["case"], v["key"], topics)
		}
	}
	lists := compat.NewListKeys("", producerList, "queue:prod:dead_letter", producerShards).Lists
	for _, v := range producedFor(t, "list") {
		if v["case"] == "a list without shards" {
			if want := compat.NewListKeys("", "queue:v2:prod:write_log", "d", 0).Lists; !slices.Equal(want, []string{v["key"]}) {
				t.Errorf("%s: key %q, want %q", v["case"], v["key"], want)
			}
			continue
		}
		if want := lists[compat.Shard(v["uuid"], producerShards)]; v["key"] != want {
			t.Errorf("%s: %q goes to %q, want %q", v["case"], v["uuid"], v["key"], want)
		}
	}
}

// producedFor returns the producer's vectors of one profile.
func producedFor(t *testing.T, profile string) []wire.Vector {
	t.Helper()
	all := slices.DeleteFunc(vectors(t, "producer"), func(v wire.Vector) bool { return v["profile"] != profile })
	if len(all) == 0 {
		t.Fatalf("no vectors of profile %s", profile)
	}
	return all
}

func parseProduced(t *testing.T, v wire.Vector) compat.Job {
	t.Helper()
	parse := compat.ParseJob
	if v["profile"] == "list" {
		parse = compat.ParseListJob
	}
	job, err := parse(v["text"])
	if err != nil {
		t.Fatalf("%s: %v", v["case"], err)
	}
	return job
}
