package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a single sidecar's breaker or rate does, nobody but that sidecar knows.
func TestStatusTellsWhatSingleSidecarsHoldBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := time.Now().UTC()
	beat := func(instance string, at time.Time, holds string) {
		s.do("HSET", "sidecar:alive", instance, fmt.Sprintf(`{"instance":%q,"host":%q,"at":%q,"holds":[%s]}`, instance, instance, at.Format(time.RFC3339), holds))
	}
	trip := func(topic string) string {
		return fmt.Sprintf(`{"topic":%q,"kind":"breaker","since":%q,"reason":"20 runs in a row: failed: x"}`, topic, now.Format(time.RFC3339))
	}
	rate := func(topic string) string { return fmt.Sprintf(`{"topic":%q,"kind":"rate","reason":"50/h"}`, topic) }
	beat("web1", now, trip("mail")+","+rate("send_sms")+","+trip("order_timeout"))
	beat("web2", now, rate("mail")+","+trip("order_timeout"))
	beat("gone", now.Add(-time.Minute), trip("send_sms"))
	table := strings.Join(strings.Fields(s.verb(0, nil, "status")), " ")
	for _, want := range []string{"- breaker on web1 order_timeout", "- breaker on 2 sidecars send_sms", "- rate on web1"} {
		if !strings.Contains(table, want) {
			t.Errorf("want %q in\n%s", want, table)
		}
	}
	var got struct {
		Topics []struct {
			Paused   bool
			Sidecars []struct{ Instance, Host, Kind, Since, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(s.verb(0, nil, "status", "--json")), &got); err != nil || len(got.Topics) != 3 {
		t.Fatalf("%v in %+v", err, got)
	}
	mail, sms := got.Topics[0], got.Topics[2]
	if mail.Paused || len(mail.Sidecars) != 2 || mail.Sidecars[0].Host != "web1" || mail.Sidecars[0].Since == "" || mail.Sidecars[1].Kind != "rate" {
		t.Errorf("mail is %+v", mail)
	}
	if len(sms.Sidecars) != 1 || sms.Sidecars[0].Reason != "50/h" {
		t.Errorf("send_sms is %+v", sms)
	}
	s.do("HSET", "sidecar:paused", "mail", `{"by":"ops"}`)
	if table := s.verb(0, nil, "status"); !strings.Contains(table, "paused") || strings.Contains(table, "breaker on web1") {
		t.Errorf("a pause does not come first:\n%s", table)
	}
}

// What cannot be read must not look like what is not there.
func TestPausesThatCannotBeReadAreNotCalledNone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("SET", "sidecar:paused", "mail")
	s.do("RPUSH", "delay:ready:order_timeout", `{"uuid":"a"}`)
	const why = "sidecar:paused is a string, want a hash"
	table := strings.Join(strings.Fields(s.verb(0, []string{"which topics are paused is not known: read the pauses: " + why}, "status")), " ")
	if !strings.Contains(table, "- ? order_timeout") {
		t.Errorf("HELD is not ?:\n%s", table)
	}
	s.verb(0, []string{`"held_unknown":"read the pauses: ` + why}, "status", "--json")
	s.verb(0, []string{"whether the topic is paused is not known: read the pauses: " + why}, "find", "a")
	s.verb(1, []string{why}, "pause", "mail")
}

func TestStatusTellsWhatKeepsTheSidecarsFromRunningATopic(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := time.Now().UTC()
	beat := func(instance, more string) {
		s.do("HSET", "sidecar:alive", instance, fmt.Sprintf(`{"instance":%q,"host":%q,"at":%q%s}`, instance, instance, now.Format(time.RFC3339), more))
	}
	if table := s.verb(0, nil, "status"); !strings.Contains(table, "no sidecar says that it lives") {
		t.Errorf("nobody lives, and status says\n%s", table)
	}
	beat("web1", `,"topics":["order_timeout","send_sms"],"reasons":["fpm pool \"default\": connection refused","topic \"mail\": no such file: /srv/mail.php"]`)
	table := s.verb(0, nil, "status")
	for _, want := range []string{"no fpm on web1", "no sidecar has it", "\nweb1: ", "connection refused"} {
		if !strings.Contains(table, want) {
			t.Errorf("want %q in\n%s", want, table)
		}
	}
	if strings.Contains(table, "mail.php") || strings.Count(table, "connection refused") != 1 || strings.Contains(table, "that it lives") {
		t.Errorf("a cause is told twice, or of a topic that it has not:\n%s", table)
	}
	beat("web1", `,"topics":["order_timeout"],"reasons":["fpm pool \"default\": no child took the job within 12s: php-fpm hangs"]`)
	if table := s.verb(0, nil, "status"); !strings.Contains(table, "fpm takes no job on web1") || strings.Contains(table, "no fpm") {
		t.Errorf("a pool that takes no job is told as\n%s", table)
	}
	beat("web1", `,"topics":["order_timeout"],"reasons":["fpm pool \"default\": being looked at, not seen yet"]`)
	if table := s.verb(0, nil, "status"); strings.Contains(table, "no fpm") || strings.Contains(table, "looked at") {
		t.Errorf("a pool that is looked at after a start is told as a fault:\n%s", table)
	}
	beat("web1", `,"topics":["order_timeout","mail"],"reasons":["topic \"mail\": no such file: /srv/mail.php"]`)
	beat("web2", `,"topics":["order_timeout","mail","send_sms"],"stopping":true`)
	table = s.verb(0, nil, "status")
	for _, want := range []string{"not ready on web1", "stopping on web2", "web1 cannot run mail: no such file: /srv/mail.php"} {
		if !strings.Contains(table, want) {
			t.Errorf("want %q in\n%s", want, table)
		}
	}
	if strings.Contains(table, "maxmemory") || strings.Contains(s.verb(0, nil, "status", "--json"), "redis_full") {
		t.Errorf("nobody has met a full Redis, and status says\n%s", table)
	}
	beat("web4", `,"topics":["order_timeout"],"refused":true,"reload_refused":"sidecar.toml:3: unknown key"`)
	s.verb(0, []string{"web4 goes on with the settings of before, a reload was refused: sidecar.toml:3: unknown key\n"}, "status")
	s.verb(0, []string{"redis is at maxmemory and takes no writes of producers, as web4 said"}, "status")
	s.verb(0, []string{`"redis_full":true}`}, "status", "--json")
	s.do("HDEL", "sidecar:alive", "web2", "web4")
	s.do("HSET", "sidecar:alive", "web3-7-abc", "\x1f")
	if table = s.verb(0, nil, "status"); !strings.Contains(table, "1 sidecar lives whose heartbeat cannot be read (another version?): web3-7-abc\n") || strings.Contains(table, "no sidecar has it") {
		t.Errorf("of a sidecar that may have all topics status says\n%s", table)
	}
	s.do("HDEL", "sidecar:alive", "web3-7-abc", "unread:web3-7-abc")
	beat("web2", `,"topics":["order_timeout","mail","send_sms"],"stopping":true`)
	var got struct {
		Topics []struct {
			Topic    string
			Unserved bool
			Sidecars []struct{ Kind, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(s.verb(0, nil, "status", "--json")), &got); err != nil || len(got.Topics) != 3 {
		t.Fatalf("%v in %+v", err, got)
	}
	if mail := got.Topics[0]; mail.Unserved || len(mail.Sidecars) != 2 || mail.Sidecars[0].Kind != "not_ready" || mail.Sidecars[1].Kind != "stopping" {
		t.Errorf("%+v", mail)
	}
}
