package cli_test

import (
	"crypto/sha1" //nolint:gosec // names texts, protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

const (
	smsKey  = "queue:prod:send_sms"
	deadKey = "queue:prod:dead_letter"
)

// shop is a private Redis and a configuration with a list of two shards and a topic on it.
type shop struct {
	*redis.Client
	t      *testing.T
	config string
}

func newShop(t *testing.T) shop {
	t.Helper()
	server := testenv.Redis(t)
	return shop{server.Client(), t, writeConfig(t, fmt.Sprintf(`
[redis]
url = %q

[fpm.default]
listen = "unix:///run/php/php-fpm.sock"

[topic.order_timeout]
script = "/srv/shop/jobs/order_timeout.php"

[list.send_sms]
key = %q
shards = 2
dead = %q
call = "Sms::send"

[list.mail]
key = "queue:prod:mail"
dead = %q
route = { mail = { call = "Mail::send" } }
`, server.URL(), smsKey, deadKey, deadKey))}
}

// with returns the path of the shop's configuration with more at its end.
func (s shop) with(more string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	return writeConfig(s.t, string(text)+"\n"+more)
}

// verb runs the verb on the shop's configuration and wants its exit code and all of want in what it prints.
func (s shop) verb(code int, want []string, args ...string) string {
	s.t.Helper()
	got := sidecar(s.t, "", append(args, "-c", s.config)...)
	all := got.stdout + got.stderr
	for _, text := range want {
		if !strings.Contains(all, text) {
			s.t.Errorf("%v: want %q in\n%s", args, text, all)
		}
	}
	if got.code != code {
		s.t.Errorf("%v: exit %d, want %d:\n%s", args, got.code, code, all)
	}
	return got.stdout
}

// do runs a command that must not fail.
func (s shop) do(args ...any) any {
	s.t.Helper()
	v, err := s.Do(s.t.Context(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return v
}

// wantList fails unless the list holds exactly texts.
func (s shop) wantList(key string, texts ...string) {
	s.t.Helper()
	if got := s.LRange(s.t.Context(), key, 0, -1).Val(); !slices.Equal(got, texts) {
		s.t.Errorf("%s holds %q, want %q", key, got, texts)
	}
}

func TestPushPutsAJobIntoItsShard(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 4 {
		id := strings.TrimSpace(s.verb(0, nil, "push", "send_sms", `{"type":"send_sms","payload":{}}`))
		shard := fmt.Sprintf("%s_%d", smsKey, crc32.ChecksumIEEE([]byte(id))%2)
		want := fmt.Sprintf(`{"type":"send_sms","payload":{},"job_id":%q}`, id)
		if got := s.LIndex(t.Context(), shard, 0).Val(); got != want || len(id) != 36 {
			t.Errorf("%s begins with %q, want %q", shard, got, want)
		}
	}
	s.verb(0, []string{"job-1"}, "push", "send_sms", `{"job_id":"job-1"}`, "--delay", "1h")
	if got := s.ZRange(t.Context(), "sidecar:pool:"+smsKey, 0, -1).Val(); len(got) != 1 || !strings.HasSuffix(got[0], "\n"+`{"job_id":"job-1"}`) {
		t.Errorf("a delayed job waits as %q", got)
	}
	s.verb(1, []string{"this is not a job"}, "push", "send_sms", `[1]`)
}

func TestStatusShowsListsBesideTopics(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("LPUSH", smsKey+"_0", "a", "b")
	s.do("LPUSH", smsKey+"_1", "c")
	s.do("LPUSH", deadKey, "d")
	s.do("ZADD", "delay:pool:order_timeout", 1, "e")
	table := s.verb(0, nil, "status")
	for _, want := range []string{"TOPIC PROFILE POOL DUE READY RUNNING DEAD OLDEST DUE", "send_sms list 0 0 3 0 1 -", "mail list 0 0 0 0 1 -", "order_timeout delay 1 1"} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), want) {
			t.Errorf("want %q in\n%s", want, table)
		}
	}
	var got struct {
		Topics []struct {
			Topic, Profile string
			Ready          int
			Shards         []int
		}
	}
	if err := json.Unmarshal([]byte(s.verb(0, nil, "status", "--json")), &got); err != nil || len(got.Topics) != 3 {
		t.Fatalf("%v in %+v", err, got)
	}
	mail, topic, sms := got.Topics[0], got.Topics[1], got.Topics[2]
	if mail.Profile != "list" || !slices.Equal(mail.Shards, []int{0}) || topic.Profile != "delay" || topic.Shards != nil {
		t.Errorf("got %+v and %+v", mail, topic)
	}
	if sms.Profile != "list" || sms.Ready != 3 || !slices.Equal(sms.Shards, []int{2, 1, 0}) {
		t.Errorf("got %+v", sms)
	}
}

// bury puts a letter into dead as the sidecar does, with the reason beside it.
func (s shop) bury(list, letter, reason string) {
	s.t.Helper()
	s.do("LPUSH", deadKey, letter)
	sum := sha1.Sum([]byte(letter)) //nolint:gosec // as above
	why, err := json.Marshal(map[string]string{"list": "queue:prod:" + list, "error": reason, "trace": "#0 secret", "at": "2026-11-30 12:00:00"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.do("LPUSH", "sidecar:reasons:"+deadKey, hex.EncodeToString(sum[:])+"\n"+string(why))
}

func TestDeadListShowsWhyAndNeverWhat(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("LPUSH", deadKey, `{"job_id":"old","type":"send_sms","payload":"secret","retry_count":3}`)
	s.bury("mail", `{"job_id":"other","type":"send_sms"}`, "not yours")
	s.bury("send_sms", `{"job_id":"new","type":"send_sms","payload":"secret","retry_count":1}`, "RuntimeException:\n\tno money\x1b[2J "+strings.Repeat("x", 300))

	table := s.verb(0, nil, "dead", "list", "send_sms")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "AT ") || strings.Contains(table, "secret") || strings.Contains(table, "not yours") || strings.Contains(table, "\x1b") {
		t.Fatalf("got\n%s", table)
	}
	for i, want := range []string{"2026-11-30 12:00:00 new send_sms 1 RuntimeException: no money", "- old send_sms 3 unknown reason"} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !strings.HasSuffix(lines[1], "x…") {
		t.Errorf("a long error is not cut: %s", lines[1])
	}

	var got struct {
		Topic, Profile string
		Dead           []struct {
			At, UUID, Type, Error string
			Tries                 int
		}
	}
	text := s.verb(0, nil, "dead", "list", "send_sms", "--json", "--limit", "1")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Dead) != 1 || strings.Contains(text, "secret") {
		t.Fatalf("%v in %s", err, text)
	}
	if d := got.Dead[0]; got.Profile != "list" || d.UUID != "new" || d.Tries != 1 || !strings.HasSuffix(d.Error, strings.Repeat("x", 300)) {
		t.Errorf("got %+v", got)
	}
	s.verb(0, []string{`"dead":[]`}, "dead", "list", "order_timeout", "--json")
}

func TestDeadListShowsTheRecordsOfATopic(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("RPUSH", "delay:dead:order_timeout",
		`{"job":{"uuid":"u1","retry":6,"order_id":"secret"},"error":"first","trace":"","at":"2026-11-30 12:00:00"}`,
		`{"job":{"sidecar_raw":"c2VjcmV0"},"error":"not a JSON object","trace":"","at":"2026-11-30 12:00:01"}`, `secret`)
	table := s.verb(0, nil, "dead", "list", "order_timeout")
	want := []string{"AT UUID TRIES ERROR", "- record: 0 not a dead record", "2026-11-30 12:00:01 record: 0 not a JSON object", "2026-11-30 12:00:00 u1 6 first"}
	sum := regexp.MustCompile(`record:[0-9a-f]{20}`)
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if got := sum.ReplaceAllString(strings.Join(strings.Fields(line), " "), "record:"); i >= len(want) || got != want[i] {
			t.Errorf("line %d: %q", i, got)
		}
	}
	if strings.Contains(table, "secret") {
		t.Errorf("it shows a payload:\n%s", table)
	}
}

func TestReplayTakesTheOldestLettersOfItsOwnList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.bury("send_sms", `{"job_id":"1","type":"send_sms","retry_count":3}`, "x")
	s.bury("mail", `{"job_id":"2","type":"mail"}`, "x")
	s.bury("send_sms", "no job", "x")
	s.bury("send_sms", `{"job_id":"4","type":"send_sms"}`, "x")
	before := s.LRange(t.Context(), deadKey, 0, -1).Val()

	s.verb(0, []string{"would replay 1\n", "would replay 1 job"}, "replay", "send_sms", "--limit", "1", "--dry-run")
	s.wantList(deadKey, before...)
	s.verb(0, []string{"replayed 1\n", "replayed 4\n", "replayed 2 jobs", "1 record holds a text that is no JSON object and cannot run: left where it is"}, "replay", "send_sms", "--undo-dir", t.TempDir())
	s.wantList(deadKey, "no job", `{"job_id":"2","type":"mail"}`)
	s.wantList(fmt.Sprintf("%s_%d", smsKey, crc32.ChecksumIEEE([]byte("1"))%2), `{"job_id":"1","type":"send_sms","retry_count":0}`)
}

func TestTryRunsTheRouteOfTheJobsType(t *testing.T) {
	t.Parallel()
	fpm := testenv.StartFPM(t, testenv.FPMOptions{})
	for _, name := range []string{"other", "mail"} {
		code := fmt.Sprintf(`<?php echo "%s ran ", $job["job_id"];`, name)
		if err := os.WriteFile(filepath.Join(fpm.Dir, name+".php"), []byte(code), 0o644); err != nil { //nolint:gosec // FPM's children read it
			t.Fatal(err)
		}
	}
	s := shop{t: t, config: writeConfig(t, fmt.Sprintf(`
[fpm.default]
listen = %q
bridge_dir = %q

[defaults]
dead = "queue:prod:dead_letter"

[list.all]
key = "queue:prod:all"
script = %q
route = { mail = { script = %[4]q } }

[list.mail]
key = "queue:prod:mail"
route = { mail = { script = %[4]q } }
`, fpm.Listen, filepath.Join(fpm.Dir, "bridge"), filepath.Join(fpm.Dir, "other.php"), filepath.Join(fpm.Dir, "mail.php")))}
	s.verb(0, []string{"verdict: done", "mail ran 7"}, "try", "all", `{"job_id":"7","type":"mail"}`)
	s.verb(0, []string{"verdict: done", "other ran 8"}, "try", "all", `{"job_id":"8","type":"sms"}`)
	s.verb(1, []string{"verdict: rejected", `no route for type "sms"`}, "try", "mail", `{"job_id":"9","type":"sms"}`)
}
