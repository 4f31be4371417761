package queue_test

import (
	"errors"
	"testing"
	"time"

	"sidecar/queue"
)

func TestAReasonIsForTheTopicsThatItKeepsFromRunning(t *testing.T) {
	why := errors.New("gone")
	for name, tt := range map[string]struct{ reason, want string }{
		"its own":                    {queue.TopicReason("mail", why), "gone"},
		"another topic's":            {queue.TopicReason("sms", why), ""},
		"one's that begins like it":  {queue.TopicReason("mail2", why), ""},
		"its pool's":                 {queue.PoolReason("jobs", why), `fpm pool "jobs": gone`},
		"another pool's":             {queue.PoolReason("web", why), ""},
		"a topic's of the same name": {queue.TopicReason("jobs", why), ""},
		"everybody's":                {"redis: gone", "redis: gone"},
		"a quoted name":              {queue.TopicReason(`ma"il`, why), ""},
	} {
		if got := queue.ReasonFor("mail", "jobs", tt.reason); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if got := queue.IsOfPool("jobs", tt.reason); got != (name == "its pool's") {
			t.Errorf("%s: is of the pool: %t", name, got)
		}
	}
}

func TestASidecarLivesUntilItSaysGoodbyeOrNothing(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	beats := []queue.Heartbeat{
		{Instance: "well", At: now.Add(-queue.LostAfter)},
		{Instance: "left", At: now, Stopped: true},
		{Instance: "lost", At: now.Add(-queue.LostAfter - time.Second)},
		{Instance: "stopping", At: now, Stopping: true},
	}
	got := queue.Living(beats, now)
	beats[3].Topics, beats[0].Topics, beats[2].Topics = []string{"mail"}, []string{"mail"}, []string{"mail"}
	for i, want := range []bool{true, false, false, false} {
		if serves := beats[i].Serves("mail", now); serves != want {
			t.Errorf("%s serves: %t", beats[i].Instance, serves)
		}
	}
	if len(got) != 2 || got[0].Instance != "well" || got[1].Instance != "stopping" || len(beats) != 4 || beats[1].Instance != "left" {
		t.Errorf("got %+v of %+v", got, beats)
	}
}

func TestAHoldIsFoundByItsTopicAndKind(t *testing.T) {
	var b queue.Heartbeat
	b.AddHolds("mail", []queue.Hold{{Kind: queue.HoldRate, Reason: "5/s"}, {Kind: queue.HoldBreaker, Reason: "boom"}})
	if h, on := b.Hold("mail", queue.HoldBreaker); !on || h.Reason != "boom" {
		t.Errorf("got %+v, %t", h, on)
	}
	if h, on := b.Hold("sms", queue.HoldRate); on {
		t.Errorf("got %+v of another topic", h)
	}
}
