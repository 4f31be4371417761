package queue_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// check looks at the server and at what the user may do with the topic mail.
func check(t *testing.T, b bench) ([]string, error) {
	t.Helper()
	warnings, err := queue.CheckServer(t.Context(), b.rdb, "", topicsOf("mail"))
	return warnings, errors.Join(err, queue.NewStore(b.rdb, "", queue.Options{Topic: "mail"}).Check(t.Context()))
}

func wantWarning(t *testing.T, warnings []string, parts ...string) {
	t.Helper()
	for _, w := range warnings {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(w, part)
		}
		if found {
			return
		}
	}
	t.Errorf("warnings %q, want one with %q", warnings, parts)
}

func TestCheckOfAGoodServerChangesAndSaysNothing(t *testing.T) {
	b := newBench(t, nil)
	prepare(t, b)
	warnings, err := check(t, b)
	if err != nil || len(warnings) != 0 {
		t.Errorf("got %q, %v, want nothing", warnings, err)
	}
	wantKeys(t, b, prepared())
	if err := benchOn(b.server, withMarks(queue.IdempotencyOn)).Check(t.Context()); err != nil {
		t.Error(err)
	}
	wantKeys(t, b, prepared())
}

// C61: a policy that can evict queues.
func TestCheckWarnsOfEviction(t *testing.T) {
	b := newBench(t, nil)
	for _, policy := range []string{"allkeys-lru", "volatile-lru"} {
		b.do(t, "CONFIG", "SET", "maxmemory-policy", policy)
		warnings, err := check(t, b)
		if err != nil {
			t.Error(err)
		}
		wantWarning(t, warnings, policy, "noeviction")
	}
	warnings, err := check(t, asUser(t, b, "~*", "+@all", "-info", "-config"))
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, "cannot tell")
}

// C34: a framework's prefix, unknown to us.
func TestCheckFindsPrefixedKeys(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "ZADD", "laravel_database_delay:pool:mail", 1, "x")
	b.do(t, "ZADD", "delay:pool:email", 1, "x") // of another topic
	warnings, err := check(t, b)
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, "laravel_database_delay:pool:mail", `set key_prefix = "laravel_database_"`)
	if strings.Contains(strings.Join(warnings, ""), "email") {
		t.Errorf("another topic's key is mentioned: %q", warnings)
	}
	warnings, err = queue.CheckServer(t.Context(), b.rdb, "laravel_database_", topicsOf("mail"))
	if err != nil || len(warnings) != 0 {
		t.Errorf("with the prefix: %q, %v", warnings, err)
	}
	b.ready(t, "now there are some")
	if warnings, err := check(t, b); err != nil || len(warnings) != 0 {
		t.Errorf("with keys of its own: %q, %v", warnings, err)
	}
}

// A half-moved shop has jobs under two prefixes. Another shop in the same Redis, with a sidecar of its own, is no such.
func TestOtherPrefixesOfATopicInUseAreFoundWhereNoSidecarLives(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, "one")
	b.do(t, "ZADD", "laravel_delay:pool:mail", 1, "x")
	b.do(t, "LPUSH", "laravel_delay:dead:mail", "x")
	b.do(t, "ZADD", "staging_delay:pool:mail", 1, "x")
	b.do(t, "HSET", "staging_sidecar:alive", "one", "{}")
	topics := topicsOf("mail", "sms")
	seen, err := queue.SeeKeys(t.Context(), b.rdb, "", topics)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.OtherPrefixes(t.Context(), topics[0]); !slices.Equal(got, []string{"laravel_"}) {
		t.Errorf("got %q of mail, want laravel_", got)
	}
	if got := seen.OtherPrefixes(t.Context(), topics[1]); len(got) != 0 {
		t.Errorf("got %q of sms, want none", got)
	}
}

// Two hundred topics that are empty cost a production Redis no more than one.
func TestTheSearchForPrefixedKeysGoesThroughThemOnceForAllTopics(t *testing.T) {
	b := newBench(t, nil)
	for i := range 30 {
		b.do(t, "ZADD", "app:delay:pool:mail"+strconv.Itoa(i%7), i, "x")
	}
	topics := make([]queue.Options, 50)
	for i := range topics {
		topics[i].Topic = "mail" + strconv.Itoa(i)
	}
	b.do(t, "CONFIG", "RESETSTAT")
	warnings, err := queue.CheckServer(t.Context(), b.rdb, "", topics)
	if err != nil || len(warnings) != 7 {
		t.Errorf("got %q, %v, want seven topics", warnings, err)
	}
	if stats := b.rdb.Info(t.Context(), "commandstats").Val(); !strings.Contains(stats, "cmdstat_scan:calls=1,") {
		t.Errorf("want one SCAN: %s", stats)
	}
}

func TestNobodyIsSentToAProxyWhereNobodyAnswers(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	if _, err := queue.CheckServer(t.Context(), rdb, "", nil); err == nil || strings.Contains(err.Error(), "proxy") {
		t.Errorf("got %v", err)
	}
}

func TestASentinelIsToldFromARedisAndFromOneThatKnowsAnotherName(t *testing.T) {
	s := testenv.SentinelTrio(t)
	_, err := queue.CheckServer(t.Context(), s.Watchers[0].Client(), "", nil)
	if !errors.Is(err, queue.ErrNoScripting) || !strings.Contains(err.Error(), "it is a Sentinel") {
		t.Errorf("its address as url: got %v", err)
	}
	rdb, err := queue.Open(queue.RedisOptions{Addrs: s.Addrs(), Sentinel: "another", Protocol: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	if _, err = queue.CheckServer(t.Context(), rdb, "", nil); err == nil || !strings.Contains(err.Error(), "no master of that name") {
		t.Errorf("another name: got %v", err)
	}
}

// C109: least privilege. What is missing is named before any job is popped.
func TestCheckNamesEveryMissingRight(t *testing.T) {
	b := newBench(t, nil)
	prepare(t, b)
	least := []any{"~delay:*", "~queue:*", "+@sortedset", "+@list", "+eval", "+evalsha", "+ping"}
	_, err := check(t, asUser(t, b, least...))
	if err == nil || !strings.Contains(err.Error(), "may not run time:") {
		t.Errorf("got %v, want time named and nothing else", err)
	}
	warnings, err := check(t, asUser(t, b, append(least, "+time")...))
	if err != nil {
		t.Errorf("with TIME: %v", err)
	}
	wantWarning(t, warnings, "cannot tell")
	_, err = check(t, asUser(t, b, append(least, "+time", "-lpush", "-rpush", "-zrem", "-lpop")...))
	if err == nil || !strings.Contains(err.Error(), "may not run zrem, lpush, rpush:") {
		t.Errorf("got %v, want zrem, lpush and rpush named", err)
	}
	_, err = check(t, asUser(t, b, append(least, "+time", "-lpop")...))
	if err == nil || !strings.Contains(err.Error(), "may not run lpop:") {
		t.Errorf("got %v, want lpop named", err)
	}
	_, err = check(t, asUser(t, b, "~other:*", "+@all"))
	if err == nil || !strings.Contains(err.Error(), "delay:pool:mail") {
		t.Errorf("got %v, want the keys named", err)
	}
	wantKeys(t, b, prepared())
}

func TestCheckTriesMarksOnlyWhereTheyAreUsed(t *testing.T) {
	b := newBench(t, nil)
	user := asUser(t, b, "~delay:*", "+@all")
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	if err := queue.NewStore(user.rdb, "", opts).Check(t.Context()); err != nil {
		t.Errorf("off: %v", err)
	}
	opts.Idempotency = queue.IdempotencyOn
	if err := queue.NewStore(user.rdb, "", opts).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "idem:mail:") {
		t.Errorf("on: %v, want the marks named", err)
	}
}

// C109, C101: a full server and a broken key are no matter of rights; they are met when they matter.
func TestCheckOfAFullServerAndABrokenKey(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "SET", b.keys.Ready, "x")
	b.do(t, "CONFIG", "SET", "maxmemory", "1")
	if _, err := check(t, b); err != nil {
		t.Error(err)
	}
	if got := b.do(t, "GET", b.keys.Ready); got != "x" {
		t.Errorf("the key is %v now", got)
	}
}

// C95, C99: servers that cannot do it.
func TestCheckRefusesServersThatCannotDoIt(t *testing.T) {
	answers := map[string]struct {
		eval, info string
		want       error
		text       string
	}{
		"2.8":                    {":0\r\n", bulk("redis_version:2.8.24\r\n"), queue.ErrTooOld, "2.8.24"},
		"3.0":                    {":0\r\n", bulk("redis_version:3.0.7\r\n"), queue.ErrTooOld, "3.0.7"},
		"3.0 that does not say":  {":0\r\n", "-ERR unknown command 'INFO'\r\n", queue.ErrTooOld, "3.2"},
		"no EVAL":                {"-ERR unknown command 'eval'\r\n", bulk("redis_version:7.0.0\r\n"), queue.ErrNoScripting, "EVAL"},
		"no EVAL, in other case": {"-ERR Unknown Command `EVAL`, with args\r\n", bulk(""), queue.ErrNoScripting, "EVAL"},
	}
	for name, a := range answers {
		server := newFake(t, func(command []string) string {
			switch command[0] {
			case "eval":
				return a.eval
			case "info":
				return a.info
			}
			return "-ERR unknown command\r\n"
		})
		_, err := queue.CheckServer(t.Context(), open(t, queue.RedisOptions{URL: "redis://" + server.addr}), "", topicsOf("mail"))
		if !errors.Is(err, a.want) || !strings.Contains(err.Error(), a.text) {
			t.Errorf("%s: %v, want %v", name, err, a.want)
		}
		if n := server.count("evalsha"); n != 0 {
			t.Errorf("%s: %d scripts were run", name, n)
		}
	}
}

// C74: active replicas hand one job to two consumers.
func TestCheckWarnsOfTheServersRole(t *testing.T) {
	for role, text := range map[string]string{"active-replica": "active replica", "slave": "slave: nothing can be moved"} {
		server := newFake(t, func(command []string) string {
			switch command[0] {
			case "eval":
				return ":1\r\n"
			case "evalsha":
				return "*0\r\n"
			case "info":
				return bulk("redis_version:6.2.0\r\nrole:" + role + "\r\nmaxmemory_policy:noeviction\r\n")
			case "exists":
				return ":1\r\n"
			}
			return "-ERR unknown command\r\n"
		})
		warnings, err := queue.CheckServer(t.Context(), open(t, queue.RedisOptions{URL: "redis://" + server.addr}), "", topicsOf("mail"))
		if err != nil {
			t.Error(err)
		}
		wantWarning(t, warnings, text)
	}
}

// C105: a server that is still loading is no reason to give up.
func TestCheckOfALoadingServerIsAFaultThatPasses(t *testing.T) {
	server := newFake(t, func([]string) string { return "-LOADING Redis is loading the dataset in memory\r\n" })
	_, err := queue.CheckServer(t.Context(), open(t, queue.RedisOptions{URL: "redis://" + server.addr}), "", nil)
	if queue.FaultOf(err) != queue.Loading {
		t.Errorf("got %v, want LOADING", err)
	}
	_, err = queue.CheckServer(t.Context(), open(t, queue.RedisOptions{URL: "redis://" + testenv.FreeAddr(t)}), "", nil)
	if queue.FaultOf(err) != queue.Network {
		t.Errorf("nobody there: %v, want a network fault", err)
	}
}

// bulk is text as RESP sends it.
func bulk(text string) string {
	return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n"
}
