package compat_test

import (
	"strings"
	"testing"

	"sidecar/compat"
)

func TestTheKeysOfAListAreAsPHPNamesThem(t *testing.T) {
	k := compat.NewListKeys("app:", "queue:prod:sms", "queue:prod:dead_letter", 0)
	for got, want := range map[string]string{
		strings.Join(k.Lists, " "): "app:queue:prod:sms",
		k.Dead:                     "app:queue:prod:dead_letter",
		k.Running:                  "app:sidecar:running:queue:prod:sms",
		k.Pool:                     "app:sidecar:pool:queue:prod:sms",
		k.Reasons:                  "app:sidecar:reasons:queue:prod:dead_letter",
		k.Ack("7"):                 "app:ack:7",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for shards, want := range map[int]string{1: "q_0 q", 3: "q_0 q_1 q_2 q"} {
		if got := strings.Join(compat.NewListKeys("", "q", "d", shards).Lists, " "); got != want {
			t.Errorf("%d shards are %s, want %s", shards, got, want)
		}
	}
}

func TestAListNeedsAHashTagInEachOfItsKeys(t *testing.T) {
	for name, test := range map[string]struct {
		prefix, key, dead string
		want              string
	}{
		"both have it":      {"", "queue:{prod}:sms", "queue:{prod}:dead", ""},
		"the prefix has it": {"{app}:", "queue:sms", "queue:dead", ""},
		"none has it":       {"", "queue:sms", "queue:dead", "queue:sms_1"},
		"only the list":     {"", "queue:{prod}:sms", "queue:dead", "queue:dead"},
	} {
		if got := compat.NewListKeys(test.prefix, test.key, test.dead, 4).OutsideSlot(); got != test.want {
			t.Errorf("%s: %q is in a slot of its own, want %q", name, got, test.want)
		}
	}
}

// crc32(id) % shards, as PHP 8.2 computes it.
func TestAnIDsShardIsTheOneThatPHPChooses(t *testing.T) {
	for id, crc := range map[string]uint32{"": 0, "a": 3904355907, "123456789": 3421780262, "订单": 3267451827} {
		for _, shards := range []int{2, 3, 8, 256} {
			if got, want := compat.Shard(id, shards), int(crc%uint32(shards)); got != want {
				t.Errorf("%q of %d shards goes to %d, want %d", id, shards, got, want)
			}
		}
		if compat.Shard(id, 0) != 0 || compat.Shard(id, 1) != 0 {
			t.Errorf("%q goes elsewhere than to the only list", id)
		}
	}
}

func TestAClaimIsSplitIntoWhatItWasJoinedFrom(t *testing.T) {
	for _, text := range []string{"", "\n", "a\nb", "3-x\ny", "\x00\xff"} {
		id, got := compat.SplitClaim(compat.JoinClaim(12, "ab-1-2", text))
		if id != "12-ab-1-2" || got != text {
			t.Errorf("%q became %q and %q", text, id, got)
		}
	}
	for _, entry := range []string{"", "x", "{\n}", "\n", "7", "7\n8", "-7\n8", "7-8", "a-7\n8"} {
		if id, text := compat.SplitClaim(entry); id != "" || text != entry {
			t.Errorf("%q, which has no id, became %q and %q", entry, id, text)
		}
	}
}

func TestAListsJobIsReadByItsOwnNames(t *testing.T) {
	job, err := compat.ParseListJob(`{"job_id":"j1","uuid":"u","type":"sms","retry":9,"retry_count":2,"max_retry":5,"crashes":1,"last_error":"x","topic":"t","sidecar_raw":"eA=="}`)
	if err != nil {
		t.Fatal(err)
	}
	if job.UUID() != "j1" || job.Type() != "sms" || job.Tries() != 2 || job.Crashes() != 1 || job.LastError() != "x" || job.Topic() != "" {
		t.Errorf("got %q %q %d %d %q %q", job.UUID(), job.Type(), job.Tries(), job.Crashes(), job.LastError(), job.Topic())
	}
	if n, ok := job.MaxRetry(); n != 5 || !ok {
		t.Errorf("max_retry is %d, %t", n, ok)
	}
	if _, err := compat.ParseListJob(`{"sidecar_raw":"eA=="}`); err != nil {
		t.Errorf("a list knows no wrappers: %v", err)
	}
	for _, text := range []string{"", "[]", "null", `"x"`, `{"a":1`} {
		if _, err := compat.ParseListJob(text); err == nil {
			t.Errorf("%q is taken for a job", text)
		}
	}
}

func TestAListsFieldsAreChangedUnderTheirOwnNames(t *testing.T) {
	const text = `{"retry":9,"job_id":1, "retry_count":"2","payload":{},"n":1.0}`
	job, err := compat.ParseListJob(text)
	if err != nil {
		t.Fatal(err)
	}
	if job.UUID() != "1" || job.Tries() != 2 {
		t.Errorf("got %q and %d tries", job.UUID(), job.Tries())
	}
	if got, want := job.WithTries(3).Raw(), `{"retry":9,"job_id":1, "retry_count":3,"payload":{},"n":1.0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := job.WithCrashes(1).WithLastError("dead").Raw(), text[:len(text)-1]+`,"crashes":1,"last_error":"dead"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMaxRetryIsANumberHoweverItIsWritten(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for value, want := range map[string]int{
		"0": 0, "3": 3, `"2"`: 2, `" 2 "`: 2, "2.9": 2, `"2.9"`: 2, "-1": 0, "1e2": 100, `"2 times"`: 2,
	} {
		if n, ok := maxRetryOf(t, value); n != want || !ok {
			t.Errorf("%s is %d, %t, want %d", value, n, ok, want)
		}
	}
	for _, value := range []string{`"abc"`, "true", "[]", "{}", "null", `""`} {
		if n, ok := maxRetryOf(t, value); ok {
			t.Errorf("%s is %d, want no number", value, n)
		}
	}
	if n, ok := maxRetryOf(t, "1e30"); !ok || n < 1_000_000 || n > most {
		t.Errorf("1e30 is %d, %t, want very often", n, ok)
	}
	if job, _ := compat.ParseListJob(`{"job_id":"a"}`); job.Raw() == "" {
		t.Error("no job")
	} else if _, ok := job.MaxRetry(); ok {
		t.Error("an absent one is a number")
	}
}

func maxRetryOf(t *testing.T, value string) (int, bool) {
	t.Helper()
	job, err := compat.ParseListJob(`{"max_retry":` + value + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return job.MaxRetry()
}
