package queue_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

func TestRedisOptionsThatHold(t *testing.T) {
	tests := map[string]func(*queue.RedisOptions){
		"defaults":      func(*queue.RedisOptions) {},
		"database":      func(o *queue.RedisOptions) { o.URL = "redis://10.0.0.1/3" },
		"same database": func(o *queue.RedisOptions) { o.URL, o.DB = "redis://10.0.0.1/3", 3 },
		"tls":           func(o *queue.RedisOptions) { o.URL = "rediss://redis.internal:6380" },
		"unix":          func(o *queue.RedisOptions) { o.URL = "unix:///run/redis.sock?db=1" },
		"login":         func(o *queue.RedisOptions) { o.URL = "redis://jobs:p%40ss@[::1]:6379" },
		"user, password elsewhere": func(o *queue.RedisOptions) {
			o.URL, o.Password = "redis://jobs@10.0.0.1", "x"
		},
		"one address": func(o *queue.RedisOptions) { o.URL, o.Addrs = "", []string{"redis:6379"} },
		"cluster": func(o *queue.RedisOptions) {
			o.URL, o.Addrs, o.Cluster = "", []string{"10.0.0.1:6379", "10.0.0.2:6379"}, true
		},
		"sentinel": func(o *queue.RedisOptions) {
			o.URL, o.Addrs, o.Sentinel, o.DB = "", []string{"10.0.0.1:26379", "[::1]:26379"}, "mymaster", 2
		},
		"sentinel's own user": func(o *queue.RedisOptions) {
			o.URL, o.Addrs, o.Sentinel = "", []string{"10.0.0.1:26379"}, "mymaster"
			o.SentinelUsername, o.SentinelPassword = "watcher", "x"
		},
		"old server": func(o *queue.RedisOptions) { o.Protocol = 2 },
		"client certificate": func(o *queue.RedisOptions) {
			o.TLS = queue.TLSOptions{Enabled: true, CertFile: "/c.pem", KeyFile: "/k.pem"}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := queue.DefaultRedisOptions()
			change(&o)
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			if o.URL == "" {
				return
			}
			// What we let pass, the client must be able to read.
			if _, err := redis.ParseURL(o.URL); err != nil {
				t.Error(err)
			}
			if again := o.Resolved(); !reflect.DeepEqual(again, again.Resolved()) || again.Validate() != nil {
				t.Errorf("resolved twice differs, or does not hold: %v", again.Validate())
			}
		})
	}
}

func TestRedisOptionsThatDoNotHoldAreAllReported(t *testing.T) {
	tests := map[string]struct {
		change func(*queue.RedisOptions)
		want   []string
	}{
		"nothing":       {func(o *queue.RedisOptions) { o.URL = "" }, []string{`url = "": `}},
		"both":          {func(o *queue.RedisOptions) { o.Addrs = []string{"a:1"} }, []string{"addrs: want either"}},
		"cluster url":   {func(o *queue.RedisOptions) { o.Cluster = true }, []string{"url = "}},
		"sentinel url":  {func(o *queue.RedisOptions) { o.Sentinel = "m" }, []string{"url = "}},
		"scheme":        {func(o *queue.RedisOptions) { o.URL = "tcp://10.0.0.1" }, []string{`url = "tcp://10.0.0.1": `}},
		"no scheme":     {func(o *queue.RedisOptions) { o.URL = "10.0.0.1:6379" }, []string{`url = "[hidden]": `}},
		"no host":       {func(o *queue.RedisOptions) { o.URL = "redis:///0" }, []string{`url = "redis:///0": `}},
		"two databases": {func(o *queue.RedisOptions) { o.URL, o.DB = "redis://h/1", 2 }, []string{"db = 2: "}},
		"bad database":  {func(o *queue.RedisOptions) { o.URL = "redis://h/-1" }, []string{`url = "redis://h/-1": `}},
		"client option": {func(o *queue.RedisOptions) { o.URL = "redis://h?max_retries=3" }, []string{`url = "redis://h": `}},
		"short unix":    {func(o *queue.RedisOptions) { o.URL = "unix://run/r.sock" }, []string{`url = "unix://run/r.sock": `}},
		"unix with tls": {func(o *queue.RedisOptions) { o.URL, o.TLS.Enabled = "unix:///r.sock", true }, []string{"tls: "}},
		"no colon":      {func(o *queue.RedisOptions) { o.URL = "redis://secret@h" }, []string{`url = "redis://[hidden]@h": `}},
		"sentinel's user, no sentinel": {
			func(o *queue.RedisOptions) { o.SentinelUsername = "w" },
			[]string{`sentinel_username = "w": want sentinel`},
		},
		"sentinel's user, no password": {
			func(o *queue.RedisOptions) {
				o.URL, o.Addrs, o.Sentinel, o.SentinelUsername = "", []string{"a:1"}, "m", "w"
			},
			[]string{`sentinel_username = "w": want sentinel_password_file`},
		},
		"two users": {
			func(o *queue.RedisOptions) { o.URL, o.Username = "redis://a:b@h", "c" },
			[]string{`username = "c": `},
		},
		"addresses": {
			func(o *queue.RedisOptions) {
				o.URL, o.Cluster, o.Addrs = "", true, []string{"h", "h:", ":1", "h:65536", "a:b@h:1", "redis://h:1"}
			},
			[]string{`addrs[0] = "h": `, `addrs[1] = "h:": `, `addrs[2] = ":1": `, `addrs[3] = "h:65536": `, `addrs[4] = "[hidden]": `, `addrs[5] = "redis://h:1": `},
		},
		"servers that stand alone": {
			func(o *queue.RedisOptions) { o.URL, o.Addrs = "", []string{"a:1", "b:1"} },
			[]string{"addrs: want cluster"},
		},
		"the rest": {
			func(o *queue.RedisOptions) {
				o.URL, o.Addrs, o.Cluster, o.Sentinel = "", []string{"a:1"}, true, "m"
				o.DB, o.Protocol, o.TLS.CertFile = 1, 1, "/c.pem"
			},
			[]string{`sentinel = "m": `, "db = 1: ", "protocol = 1: ", "tls: want cert_file"},
		},
		"negative database": {func(o *queue.RedisOptions) { o.DB = -1 }, []string{"db = -1: "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := queue.DefaultRedisOptions()
			tt.change(&o)
			testenv.WantFaults(t, o.Validate(), tt.want...)
		})
	}
}

func TestResolvedMovesWhatTheURLSaysToItsPlace(t *testing.T) {
	o := queue.DefaultRedisOptions()
	o.URL = "rediss://jobs:p%40ss%3Aw%2Frd%23%2520%22@10.0.0.1:6380/4"
	got := o.Resolved()
	if got.URL != "rediss://10.0.0.1:6380/4" || got.Username != "jobs" || string(got.Password) != `p@ss:w/rd#%20"` || got.DB != 4 || !got.TLS.Enabled {
		t.Errorf("got %+v, password %q", got, string(got.Password))
	}
	o.Password = "from a file"
	if got := o.Resolved(); string(got.Password) != "from a file" {
		t.Errorf("the url's password overruled the one that was given: %q", string(got.Password))
	}
	o.URL = "redis://:p@ss:w/rd#@h"
	if got := o.Resolved(); got.URL != o.URL {
		t.Errorf("a URL that does not hold was changed to %q", got.URL)
	}
}

func TestRedactURLShowsNoPieceOfAPassword(t *testing.T) {
	for _, raw := range []string{
		"redis://:secret@h:1/0", "redis://secret@h:1", "redis://:12#secret@h", "redis://:12/secret@h", "redis://:12?secret@h",
		"redis://:a@1/secret@h", "redis://:%secret@h", "redis://:se:secret/@h", "a:secret@h:1", "secret", "redis:secret@h",
		"redis://h/0?password=secret", "redis://h#secret",
	} {
		if got := queue.RedactURL(raw); strings.Contains(got, "secret") {
			t.Errorf("RedactURL(%q) = %q", raw, got)
		}
	}
	for raw, want := range map[string]string{
		"redis://10.0.0.1:6379/2":    "redis://10.0.0.1:6379/2",
		"unix:///run/redis.sock":     "unix:///run/redis.sock",
		"rediss://jobs:x@h:1/0":      "rediss://[hidden]@h:1/0",
		"unix://u:x@/run/redis.sock": "unix://[hidden]@/run/redis.sock",
	} {
		if got := queue.RedactURL(raw); got != want {
			t.Errorf("RedactURL(%q) = %q, want %q", raw, got, want)
		}
	}
}
