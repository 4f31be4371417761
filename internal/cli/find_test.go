package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

func TestFindSaysWhereAJobIsAndWhy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := s.tenth()
	s.do("ZADD", "delay:pool:order_timeout", now+3_600_000, `{"uuid":"ord_web_1","retry":2,"last_error":"no stock","secret":1}`, 0, `{"uuid":"ord_web_2"}`)
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"x"}`, `{"uuid":"ord_app_1","secret":1}`)
	s.do("ZADD", "delay:running:order_timeout", now+20_000, `{"uuid":"ord_app_2"}`, now-20_000, `{"uuid":"ord_app_3"}`)
	s.do("RPUSH", "delay:dead:order_timeout", `{"job":{"uuid":"ord_app_4","retry":6},"error":"no money","trace":"","at":"2026-11-30 12:00:00"}`)
	s.do("LPUSH", smsKey+"_1", `{"job_id":"sms_1","type":"send_sms"}`, `{"job_id":"sms_2","type":"send_sms"}`)
	s.do("LPUSH", deadKey, `{"job_id":"sms_3","type":"send_sms","retry_count":3}`)
	for uuid, want := range map[string][]string{
		"ord_web_1": {"ord_web_1  order_timeout", "key delay:pool:order_timeout", "tries 2", "error no stock", "means waits for its retry until 20", ", in "},
		"ord_web_2": {"means is due at once; it waits for a sidecar, and none says that it lives: systemctl start sidecar"},
		"ord_app_1": {"key delay:ready:order_timeout", "means is ready, with 1 ahead of it"},
		"ord_app_2": {"key delay:running:order_timeout", "lease ends 20", "means is running, since when no sidecar tells; whoever runs it renews its lease, which ends in"},
		"ord_app_3": {"means was running: its lease ended 2", "whoever ran it died"},
		"ord_app_4": {"means is dead since 2026-11-30 12:00:00 because no money: sidecar dead replay order_timeout --uuid ord_app_4"},
		"sms_1":     {"sms_1  send_sms", "key " + smsKey + "_1", "type send_sms", "is ready, with 0 ahead of it"},
		"sms_2":     {"is ready, with 1 ahead of it"},
		"sms_3":     {"key " + deadKey, "tries 3", "is dead, nobody wrote down why: sidecar dead replay send_sms --uuid sms_3"},
	} {
		got := strings.Join(strings.Fields(s.verb(0, nil, "find", uuid)), " ")
		for _, w := range want {
			if !strings.Contains(got, strings.Join(strings.Fields(w), " ")) {
				t.Errorf("%s: want %q in\n%s", uuid, w, got)
			}
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s: a payload: %s", uuid, got)
		}
	}
	var found struct{ Jobs []struct{ UUID string } }
	text := s.verb(0, nil, "find", "--prefix", "ord_web", "--json")
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found.Jobs) != 2 || strings.Contains(text, "secret") {
		t.Errorf("by prefix: %v in %s", err, text)
	}
	s.verb(1, []string{"nowhere is nowhere: looked at", "of mail, order_timeout, send_sms; it has run, and what is done is not kept, or never came here"}, "find", "nowhere")
	s.verb(1, []string{"sidecar: nowhere is nowhere: looked at 7 texts in pool, ready, running and dead of order_timeout"}, "find", "nowhere", "order_timeout")
	s.verb(2, []string{`no topic "order_timeuot"`, `did you mean "order_timeout"?`}, "find", "x", "order_timeuot")
	s.verb(2, []string{`no topic "x"`, "the uuid comes first, then topics: sidecar find x order_timeout"}, "find", "order_timeout", "x")
}

func TestFindSaysThatATopicIsPaused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := float64(s.Time(t.Context()).Val().UnixMilli()) //nolint:forbidigo // Redis's
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"u"}`)
	s.do("ZADD", timeoutPool, now+600_000, `{"uuid":"soon"}`, now+7_200_000, `{"uuid":"later"}`)
	if _, err := queue.NewPauses(s.Client, "").Set(t.Context(), "order_timeout", time.Hour, "cli ann@web1", "deploy"); err != nil {
		t.Fatal(err)
	}
	s.verb(0, []string{"the topic is paused until 20", "by cli ann@web1: sidecar resume order_timeout; it waits for a sidecar, and none says that it lives"}, "find", "u")
	s.verb(0, []string{", in ", "; the topic is paused until 20"}, "find", "soon")
	if text := s.verb(0, nil, "find", "later"); strings.Contains(text, "paused") {
		t.Errorf("of a job that is due behind the pause's end it says %s", text)
	}
}

func TestFindLooksByWhatTheTextHasInItAndShowsTheJobsInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := float64(s.Time(t.Context()).Val().UnixMilli()) //nolint:forbidigo // Redis's
	s.do("ZADD", timeoutPool, now+9000_000, `{"uuid":"p2","order_id":2104}`, now+100_000, `{"uuid":"p1","order_id":"2104"}`, now, `{"uuid":"p3","order_id":21041}`)
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"r1","order_id":2104}`, `{"uuid":"r2","order_id":2104}`)
	s.do("RPUSH", timeoutDead, `{"job":{"uuid":"d1","order":{"order_id":2104}},"error":"x","trace":"","at":"2026-11-29 12:00:00"}`)
	s.do("LPUSH", smsKey+"_0", `{"job_id":"s1","type":"send_sms","payload":{"order_id":2104}}`)
	uuids := func(args ...string) (list []string) {
		var got struct {
			Jobs []struct{ UUID, Payload string }
		}
		text := s.verb(0, nil, append(args, "--json")...)
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		for _, j := range got.Jobs {
			list = append(list, j.UUID+j.Payload)
		}
		return list
	}
	for want, args := range map[string][]string{
		"p1 p2 r1 r2 d1 s1": {"find", "--field", "order_id=2104"},
		"s1":                {"find", "--field", "payload.order_id=2104"},
		"p2":                {"find", "order_timeout", "--field", "order_id=2104", "--prefix", "p", "--text", ":2104"},
		"p3 p1 p2 r1 r2 d1": {"find", "--text", "2104", "order_timeout"},
	} {
		if got := strings.Join(uuids(args...), " "); got != want {
			t.Errorf("%v: found %s, want %s", args, got, want)
		}
	}
	s.verb(1, []string{"sidecar: 2104 is nowhere", "an order number: find --text 2104"}, "find", "2104")
	s.verb(1, []string{"sidecar: order_id=1 with a b is nowhere"}, "find", "--field", "order_id=1", "--text", "a b")
	s.verb(2, []string{"want name=value, such as order_id=2104"}, "find", "--field", "order_id")
	s.verb(2, []string{"want a uuid, --prefix, --field or --text"}, "find")
}

func TestFindSaysThatATopicIsInAPauseWindow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.config = s.with("[topic.night]\nscript = \"/srv/a.php\"\npause_windows = [\"00:00-12:00\", \"12:00-23:59\"]\n")
	s.do("RPUSH", "delay:ready:night", `{"uuid":"u"}`)
	s.verb(0, []string{"the topic is paused until 20", "by its pause_windows: "}, "find", "u", "night")
}

func TestFindDoubtsADueTimeThatNobodyWillSee(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("ZADD", "delay:pool:order_timeout", "1790000000123456", `{"uuid":"micro"}`)
	s.verb(0, []string{"which nobody will see: sidecar doctor order_timeout"}, "find", "micro")
}

func TestFindKnowsWhatWasDoneWithinTheLastDay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.config = s.with("[topic.once]\nscript = \"/srv/a.php\"\nidempotency = \"on\"\n")
	s.do("SET", "idem:once:u", "done", "EX", 86400)
	s.do("SET", "idem:once:old", "1", "EX", 86400) // an old consumer has begun it: that is not to be believed
	s.verb(0, []string{"once: done within the last day"}, "find", "u")
	s.verb(1, []string{"old is nowhere"}, "find", "old")
}

func TestPeekShowsAPlaceInItsOrderAndNoPayload(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("ZADD", "delay:pool:order_timeout", 1, `{"uuid":"a","secret":1}`, 2, `{"uuid":"b","secret":1}`, 3, `{"uuid":"c","secret":1}`)
	s.do("ZADD", "delay:running:order_timeout", 1, `{"uuid":"r"}`)
	s.do("LPUSH", smsKey+"_0", `{"job_id":"s1","type":"send_sms"}`)
	s.do("LPUSH", smsKey+"_1", `{"job_id":"s2","type":"send_sms"}`)
	table := s.verb(0, []string{"UUID", "DUE", "3 in all; --offset 2 shows those behind"}, "peek", "order_timeout", "--pool", "--limit", "2")
	if lines := strings.Split(table, "\n"); !strings.HasPrefix(lines[1], "a ") || !strings.HasPrefix(lines[2], "b ") || strings.Contains(table, "secret") {
		t.Errorf("got\n%s", table)
	}
	s.verb(0, []string{`{"uuid":"c","secret":1}`}, "peek", "order_timeout", "--pool", "--offset", "2", "--payload")
	s.verb(0, []string{"order_timeout has 0 jobs in ready\n"}, "peek", "order_timeout", "--ready")
	s.verb(0, []string{"order_timeout has 3 jobs in pool, and none behind --offset 3\n"}, "peek", "order_timeout", "--pool", "--offset", "3")
	s.verb(0, []string{"r ", "its lease ended"}, "peek", "order_timeout", "--running")
	var got struct {
		Total int
		Jobs  []struct{ UUID, Key string }
	}
	text := s.verb(0, nil, "peek", "send_sms", "--ready", "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Total != 2 || len(got.Jobs) != 2 || got.Jobs[1].UUID != "s2" || got.Jobs[1].Key != smsKey+"_1" {
		t.Errorf("%v: %s", err, text)
	}
	s.verb(2, []string{"want one of --pool, --ready and --running"}, "peek", "send_sms")
	s.verb(2, []string{"want one of --pool, --ready and --running"}, "peek", "send_sms", "--pool", "--ready")
	s.verb(2, []string{"want 1 to 500"}, "peek", "send_sms", "--pool", "--limit", "501")
	s.verb(2, []string{"want zero or more"}, "peek", "send_sms", "--pool", "--offset", "-1")
}

func TestFindSaysHowLongThoseAheadTake(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	beat, err := queue.NewHeartbeats(s.Client, "").Beat(t.Context(), queue.Heartbeat{Instance: "a", Host: "web1", Topics: []string{"order_timeout"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		minute := queue.Minute{At: queue.MinuteAt(beat.At) - 3 + i, Topics: map[string]queue.TopicMinute{"order_timeout": {Left: 12, Depths: &queue.Reading{Ready: 100}}}}
		if err := queue.NewMinutes(s.Client, "").Put(t.Context(), "a", minute); err != nil {
			t.Fatal(err)
		}
	}
	s.do("ZADD", timeoutPool, 1, `{"uuid":"waits"}`)
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"x"}`)
	for _, args := range [][]string{{"find", "waits"}, {"find", "x"}, {"peek", "order_timeout", "--pool"}, {"peek", "order_timeout", "--running"}} {
		s.verb(0, nil, args...)
		if stats := s.Info(t.Context(), "commandstats").Val(); strings.Contains(stats, "cmdstat_hmget") {
			t.Errorf("%q reads the minutes of the sidecars, and has no use for them", args)
		}
	}
	for range 29 {
		s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"x"}`)
	}
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"last"}`)
	const want = "is ready, with 30 ahead of it (at the last minute's pace about 2m30s); it runs as soon as"
	if got := strings.Join(strings.Fields(s.verb(0, nil, "find", "last")), " "); !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}
