package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

// beat writes what a sidecar says of itself as it was said so long ago.
func (s *shop) beat(b queue.Heartbeat, ago time.Duration) {
	s.t.Helper()
	b.At = time.Now().Add(-ago).UTC()
	text, err := json.Marshal(b)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do("HSET", "sidecar:alive", b.Instance, string(text))
}

// A job that may run waits for sidecars: find says what they know of it.
func TestFindSaysWhatKeepsTheSidecarsFromAJob(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"u"}`)
	find := func(want ...string) {
		t.Helper()
		for _, verb := range [][]string{{"find", "u"}, {"peek", "order_timeout", "--ready"}} {
			got := s.verb(0, nil, verb...)
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%v: want %q in\n%s", verb, w, got)
				}
			}
		}
	}
	topics := []string{"order_timeout", "mail", "send_sms"}
	breaker := queue.HeldTopic{Topic: "order_timeout", Hold: queue.Hold{Kind: queue.HoldBreaker, Reason: "20 runs in a row: failed: x"}}
	rate := queue.HeldTopic{Topic: "order_timeout", Hold: queue.Hold{Kind: queue.HoldRate, Reason: "6/m"}}
	others := queue.HeldTopic{Topic: "mail", Hold: breaker.Hold}

	s.beat(queue.Heartbeat{Instance: "gone", Host: "old", Topics: topics}, time.Minute)
	s.beat(queue.Heartbeat{Instance: "left", Host: "old", Topics: topics, Stopped: true}, 0)
	find("it waits for a sidecar, and none says that it lives: systemctl start sidecar")
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: topics[1:]}, 0)
	find("no sidecar that lives (web1) has the topic: give its sidecar.toml the table, then sidecar reload there")
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: topics, Reasons: []string{`topic "mail": script is missing`, `fpm pool "other": down`}, Holds: []queue.HeldTopic{others}}, 0)
	find("it runs as soon as a sidecar has a slot for it, and sidecar doctor order_timeout says what could keep one from it")
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: topics, Reasons: []string{`topic "order_timeout": class A does not exist`}}, 0)
	find("with 0 ahead of it; web1 cannot run it: class A does not exist")
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: topics, Reasons: []string{`fpm pool "default": it is down`}}, 0)
	find(`; web1 cannot run it: fpm pool "default": it is down`)
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: topics, Holds: []queue.HeldTopic{rate, breaker}}, 0)
	find("; breaker on web1: 20 runs in a row: failed: x")
	s.beat(queue.Heartbeat{Instance: "b", Host: "web2", Topics: topics, Holds: []queue.HeldTopic{rate}}, 0)
	find("; breaker on web1: 20 runs in a row: failed: x; rate on web2: 6/m")
	s.beat(queue.Heartbeat{Instance: "b", Host: "web2", Topics: topics}, 0)
	find("it runs as soon as a sidecar has a slot for it; breaker on web1: 20 runs")
	s.beat(queue.Heartbeat{Instance: "b", Host: "web2", Topics: topics, Stopping: true}, 0)
	find("; breaker on web1: 20 runs in a row: failed: x; web2 is stopping")
}

// A claim's first lease tells when it was claimed, later ones do not; then its sidecar does, while it lives.
func TestFindSaysSinceWhenAJobRunsOrThatItIsNotKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.tenth()
	s.do("ZADD", "delay:running:order_timeout", now+20_000.5, `{"uuid":"u"}`)
	s.verb(0, []string{"is running, claimed 10", "s ago; whoever runs it renews", "claimed "}, "find", "u")
	s.do("ZADD", "delay:running:order_timeout", now+20_000, `{"uuid":"u"}`)
	s.verb(0, []string{"is running, since when no sidecar tells; whoever"}, "find", "u")
	beat := queue.Heartbeat{Instance: "a", Host: "web1", Topics: []string{"order_timeout"}}
	beat.AddRun("order_timeout", "u", 4711, 90*time.Second)
	s.beat(beat, 0)
	s.verb(0, []string{"is running since 20", ", for 1m30", "s, on web1 in PHP's process 4711; whoever", "since "}, "find", "u")
	s.verb(0, []string{`"since":"20`, `"host":"web1","pid":4711`}, "find", "u", "--json")
	s.verb(0, []string{"is running since 20"}, "peek", "order_timeout", "--running")
	s.beat(beat, time.Minute) // it has died since
	s.verb(0, []string{"is running, since when no sidecar tells"}, "find", "u")
}

// tenth is Redis's time, as renewed leases end: at a tenth of a second.
func (s *shop) tenth() float64 {
	return float64(s.Time(s.t.Context()).Val().UnixMilli() / 100 * 100) //nolint:forbidigo // Redis's
}

func TestFindSaysThatAnOldConsumerHoldsAJobOrThatNobodyRenewsItsLease(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.tenth()
	s.do("ZADD", "delay:running:order_timeout", now+20_017, `{"uuid":"u"}`, now+5000.25, `{"uuid":"gone"}`)
	s.verb(0, []string{"is running: an old consumer holds it and does not renew its lease, which ends in ", "; a sidecar takes the job then"}, "find", "u")
	s.verb(0, []string{"an old consumer holds it", "was claimed 2", "s ago by a sidecar that is gone or cannot reach Redis: nobody renews its lease"}, "peek", "order_timeout", "--running")
	s.beat(queue.Heartbeat{Instance: "older", Host: "web1", Topics: []string{"order_timeout"}}, time.Minute) // of a version that renewed to any millisecond
	s.verb(0, []string{"is running, since when no sidecar tells; whoever runs it renews"}, "find", "u")
}

// A job in FPM's backlog is under a lease as one that runs.
func TestFindDoubtsThatAJobRunsWhereNoChildTakesJobs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.tenth()
	s.do("ZADD", "delay:running:order_timeout", now+20_000, `{"uuid":"u"}`)
	s.beat(queue.Heartbeat{Instance: "a", Host: "web1", Topics: []string{"order_timeout"}, Reasons: []string{`fpm pool "default": no child took the job within 27s`}}, 0)
	s.verb(0, []string{`is running, since when no sidecar tells; whoever runs it renews`, `; web1 says: fpm pool "default": no child took the job within 27s`}, "find", "u")
}

func TestFindLooksOnWhereOneTopicsKeyIsWrong(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("SET", "queue:prod:mail", "x")
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"u"}`)
	s.verb(0, []string{"u  order_timeout", "sidecar: mail could not be looked through: ", "queue:prod:mail is a string, want a list"}, "find", "u")
	s.verb(1, []string{"mail could not be looked through", "v is nowhere", "dead of order_timeout, send_sms"}, "find", "v")
}

// The sidecars' leases count, not the one of whoever looks.
func TestFindGoesByTheLeasesOfTheSidecars(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	beat := func(instance string, lease float64) {
		s.beat(queue.Heartbeat{Instance: instance, Host: instance, Topics: []string{"order_timeout"}, Leases: map[string]float64{"order_timeout": lease}}, 0)
	}
	s.do("ZADD", "delay:running:order_timeout", s.tenth()+20_000.5, `{"uuid":"u"}`)
	beat("web1", 600)
	s.verb(0, []string{"was claimed 9m4", "s ago by a sidecar that is gone", "claimed "}, "find", "u")
	beat("web2", 25)
	got := s.verb(0, []string{"is running, claimed between ", "s and 9m4", "s ago; whoever runs it renews its lease"}, "find", "u")
	if strings.Contains(got, "  claimed ") {
		t.Errorf("one time is told of which it is not known:\n%s", got)
	}
}
