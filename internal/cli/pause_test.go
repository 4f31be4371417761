package cli_test

import (
	"strings"
	"testing"

	"sidecar/queue"
)

func TestAPauseLastsForSomeTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, lasts := range []string{"0s", "-1m", "soon", "9000h"} {
		s.verb(2, []string{"-for: want a time such as 10m"}, "pause", "order_timeout", "--for", lasts)
	}
	if n := s.Exists(t.Context(), "sidecar:paused").Val(); n != 0 {
		t.Error("something is paused")
	}
}

func TestDrainSaysWhatStillRuns(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("ZADD", "delay:running:order_timeout", "99999999999999", `{"uuid":"r"}`)
	s.verb(1, []string{"--timeout is over; still running: order_timeout 1."}, "drain", "order_timeout", "--timeout", "700ms")
}

// Whoever waits for a drain changes code next: it must not say that all is still while jobs begin again.
func TestDrainFailsWhenItsPauseEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	got := s.verb(1, []string{"order_timeout is not paused any more"}, "drain", "order_timeout", "--for", "1s")
	if strings.Contains(got, "nothing of it runs") {
		t.Errorf("it says\n%s", got)
	}
}

func TestResumeSaysWhatItDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.verb(0, []string{"mail was not paused\n"}, "resume", "mail")
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: []string{"mail"}, Holds: []queue.HeldTopic{
		{Topic: "mail", Hold: queue.Hold{Kind: queue.HoldBreaker, Reason: "20 runs in a row: failed: x"}},
	}}, 0)
	s.verb(0, []string{"mail was not paused; what holds it back is not ended by this: breaker on web1: 20 runs in a row: failed: x. A breaker ends with a probe that succeeds, or by Resume on that sidecar's dashboard"}, "resume", "mail")
	s.config = s.with("[topic.night]\nscript = \"/srv/a.php\"\npause_windows = [\"00:00-12:00\", \"12:00-23:59\"]\n")
	s.verb(0, []string{"night was not paused; what holds it back is not ended by this: its pause_windows, "}, "resume", "night")
}
