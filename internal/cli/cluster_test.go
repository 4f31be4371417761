package cli_test

import (
	"fmt"
	"slices"
	"testing"

	"sidecar/internal/testenv"
)

// serialized is text as phpredis stores it with its serializer.
func serialized(text string) string { return fmt.Sprintf("s:%d:\"%s\";", len(text), text) }

func TestVerbsWorkInAClusterUnderAPrefixAndOnWrappedTexts(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	rdb := c.Client()
	s := shop{t: t, config: writeConfig(t, fmt.Sprintf(`
[redis]
addrs = [%q, %q, %q]
cluster = true
key_prefix = "shop_"

[fpm.default]
listen = "unix:///run/php/php-fpm.sock"

[defaults]
encoding = "auto"

[topic."{a}"]
script = "/srv/a.php"

[topic."{b}"]
script = "/srv/b.php"

[topic."{c}"]
script = "/srv/c.php"

[list.sms]
key = "queue:{prod}:sms"
dead = "queue:{prod}:dead"
call = "Sms::send"
`, c.Nodes[0].Addr, c.Nodes[1].Addr, c.Nodes[2].Addr))}
	letter := serialized(`{"job_id":"letter","type":"sms","retry_count":3}`)
	if err := rdb.LPush(t.Context(), "shop_queue:{prod}:dead", letter).Err(); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"{a}", "{b}", "{c}"} {
		record := serialized(`{"job":{"uuid":"dead_` + topic[1:2] + `","retry":6},"error":"no money","trace":"","at":"2026-10-30 12:00:00"}`)
		if err := rdb.RPush(t.Context(), "shop_delay:dead:"+topic, record).Err(); err != nil {
			t.Fatal(err)
		}
		uuid := "dead_" + topic[1:2]
		s.verb(0, []string{"key", "shop_delay:dead:" + topic, "is dead since 2026-10-30 12:00:00 because no money"}, "find", uuid)
		s.verb(0, []string{uuid, "no money"}, "dead", "list", topic, "--error", "money")
		dir := t.TempDir()
		s.verb(0, []string{"replayed 1 job"}, "dead", "replay", topic, "--undo-dir", dir)
		s.verb(0, []string{uuid}, "peek", topic, "--pool")
		if pool := rdb.ZRange(t.Context(), "shop_delay:pool:"+topic, 0, -1).Val(); len(pool) != 1 || pool[0][:2] != "s:" {
			t.Errorf("the pool holds %q, want it wrapped as it was", pool)
		}
		s.verb(0, []string{"was due already"}, "requeue", topic, uuid)
		s.verb(0, []string{"put back 1 job"}, "dead", "undo", undoFile(t, dir))
		if dead := rdb.LRange(t.Context(), "shop_delay:dead:"+topic, 0, -1).Val(); !slices.Equal(dead, []string{record}) {
			t.Errorf("dead holds %q", dead)
		}
	}
	s.verb(0, []string{"letter"}, "find", "letter", "sms")
	dir := t.TempDir()
	s.verb(0, []string{"dropped 1 job"}, "dead", "drop", "sms", "--all", "--undo-dir", dir)
	s.verb(0, []string{"put back 1 job"}, "dead", "undo", undoFile(t, dir))
	s.verb(0, []string{"letter"}, "dead", "list", "sms")
	s.verb(0, []string{"{a}", "{b}", "{c}", "sms"}, "top")
}
