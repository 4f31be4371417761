package queue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sidecar/queue"
)

func TestAHomeIsKnownByWhatAFailoverAndANewPasswordLeaveAsTheyAre(t *testing.T) {
	t.Parallel()
	url := func(text string) queue.Home { return queue.HomeOf(queue.RedisOptions{URL: text}, "web1") }
	watched := func(master, host string, addrs ...string) queue.Home {
		return queue.HomeOf(queue.RedisOptions{Addrs: addrs, Sentinel: master}, host)
	}
	elsewhere := func(text string) queue.Home { return queue.HomeOf(queue.RedisOptions{URL: text}, "web2") }
	for _, tt := range []struct {
		name  string
		a, b  queue.Home
		equal bool
	}{
		{"another login, port written out", url("redis://ann:secret@Redis"), url("rediss://bob:other@redis:6379/0"), true},
		{"another host's view of one server", url("redis://redis.shop.example/2"), elsewhere("redis://redis.shop.example:6379/2"), true},
		{"an address", url("redis://10.0.0.7"), elsewhere("redis://10.0.0.7"), true},
		{"a name that each project may have", url("redis://redis"), elsewhere("redis://redis"), false},
		{"another server", url("redis://redis"), url("redis://redis-staging"), false},
		{"another port", url("redis://redis"), url("redis://redis:6380"), false},
		{"another database", url("redis://redis/0"), url("redis://redis/1"), false},
		{"loopback of one host", url("redis://127.0.0.1"), url("redis://127.0.0.1"), true},
		{"loopback of another", url("redis://127.0.0.1"), elsewhere("redis://127.0.0.1"), false},
		{"localhost of another", url("redis://localhost"), elsewhere("redis://localhost"), false},
		{"a socket of one host", url("unix:///run/redis.sock"), url("unix:///run/redis.sock?db=0"), true},
		{"a socket of another", url("unix:///run/redis.sock"), elsewhere("unix:///run/redis.sock"), false},
		{"sentinels, one of them new", watched("jobs", "web1", "a.lan:26379", "b.lan:26379"), watched("jobs", "web2", "b.lan:26379", "c.lan:26379"), true},
		{"another master of theirs", watched("jobs", "web1", "a:26379"), watched("cache", "web1", "a:26379"), false},
	} {
		if got := tt.a.Is(tt.b); got != tt.equal || tt.b.Is(tt.a) != got {
			t.Errorf("%s: %s is %s: %t, want %t", tt.name, tt.a, tt.b, got, tt.equal)
		}
	}
	text, err := json.Marshal(url("redis://ann:secret@127.0.0.1/3"))
	if err != nil || string(text) != `{"servers":["127.0.0.1:6379"],"db":3,"host":"web1"}` {
		t.Errorf("it lies in files as %s, %v", text, err)
	}
	for home, want := range map[string]string{
		url("redis://ann:secret@127.0.0.1/3").String():             "127.0.0.1:6379 on host web1, database 3",
		watched("jobs", "web1", "a.lan:26379", "b.lan:1").String(): `master "jobs" of a.lan:26379, b.lan:1, database 0`,
	} {
		if home != want || strings.Contains(home, "secret") {
			t.Errorf("it is told as %q, want %q", home, want)
		}
	}
}
