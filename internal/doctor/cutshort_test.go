package doctor_test

import (
	"strings"
	"testing"
	"time"

	"sidecar/internal/doctor"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// What the sidecars have kept of the hour is summed up, of those that are gone as well, and none of an earlier one.
func TestRunsThatCrashedOrTimedOutWithinTheHourAreToldOf(t *testing.T) {
	t.Parallel()
	s := newSetting(t, testenv.Redis(t, goodRedis...), goodFPM())
	rdb := s.redis.Client()
	hearts, minutes := queue.NewHeartbeats(rdb, ""), queue.NewMinutes(rdb, "")
	for i, instance := range []string{"web1-7", "web2-8"} {
		b, err := hearts.Beat(t.Context(), queue.Heartbeat{Instance: instance, Host: instance, Version: "1", Topics: []string{"mail", "sms"}, Stopped: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		for ago, n := range map[int64]int64{5: 2, 50: 1, 61: 100} {
			minute := queue.Minute{At: queue.MinuteAt(b.At) - ago, Topics: map[string]queue.TopicMinute{
				"mail": {Outcomes: map[string]int64{"crashed": n, "timed_out": 1, "done": 50}}, "sms": {Outcomes: map[string]int64{"done": 9, "failed": 3}},
			}}
			if err := minutes.Put(t.Context(), instance, minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []doctor.Finding
	for _, f := range s.examine(s.config("", "", "children = 3\nstatus = \"/status\"", topics(s.fpm.Handler("ok"), "mail", "sms"))) {
		if f.ID == "runs-cut-short" || f.ID == "redis-unasked" {
			got = append(got, f)
		}
	}
	if len(got) != 1 || got[0].Where != "topic mail" || got[0].Level != doctor.Warning || got[0].Found != "within an hour 6 runs crashed and 4 runs timed out" {
		t.Errorf("got %+v, want 6 crashes and 4 timeouts of mail", got)
	}
}

// One may be a reload of PHP-FPM; and what to do is about what there was.
func TestARunOrTwoThatWereCutShortAreANote(t *testing.T) {
	facts := goodFacts(t)
	facts.Redis.CutShort = map[string]doctor.CutShort{"mail": {TimedOut: 2}, "other": {Crashed: 9}}
	found := doctor.Judge(*facts)
	if len(found) != 1 || found[0].Level != doctor.Note || !strings.Contains(found[0].Do, "peek mail --running") || strings.Contains(found[0].Do, "memory_limit") {
		t.Errorf("got %+v, want a note of mail's timeouts", found)
	}
	facts.Redis.CutShort["mail"] = doctor.CutShort{Crashed: 3}
	facts.Redis.Now = facts.Redis.Now.Add(time.Second)
	if found = doctor.Judge(*facts); len(found) != 1 || found[0].Level != doctor.Warning || !strings.Contains(found[0].Do, "memory_limit") {
		t.Errorf("got %+v, want a warning of mail's crashes", found)
	}
}
