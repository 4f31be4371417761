package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// tolerance is how far apart two times may be that should be the same: the machine is busy.
const tolerance = 2 * time.Second

// bench is a Store of the topic "mail" and the Redis it stands on.
type bench struct {
	*queue.Store
	rdb    *redis.Client
	server *testenv.RedisServer
	keys   compat.DelayKeys
}

// newBench starts a private Redis for the test. change edits the default options.
func newBench(t testing.TB, change func(*queue.Options), conf ...string) bench {
	t.Helper()
	server := testenv.Redis(t, conf...)
	return benchOn(server, change)
}

func benchOn(server *testenv.RedisServer, change func(*queue.Options)) bench {
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers = "mail", 1
	if change != nil {
		change(&opts)
	}
	rdb := server.Client()
	return bench{
		Store:  queue.NewStore(rdb, "", opts),
		rdb:    rdb,
		server: server,
		keys:   compat.NewDelayKeys("", opts.Topic),
	}
}

// topicsOf are topics of profile delay with the default options.
func topicsOf(names ...string) []queue.Options {
	var list []queue.Options
	for _, name := range names {
		opts := queue.DefaultOptions()
		opts.Topic = name
		list = append(list, opts)
	}
	return list
}

// do runs a command that must not fail.
func (b bench) do(t testing.TB, args ...any) any {
	t.Helper()
	v, err := b.rdb.Do(t.Context(), args...).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// nowMS is Redis's time in milliseconds.
func (b bench) nowMS(t testing.TB) float64 {
	t.Helper()
	now, err := b.rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return float64(now.UnixMicro()) / 1000 //nolint:forbidigo // TIME as go-redis returns it
}

// ready puts texts into ready, as a scanner does.
func (b bench) ready(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		b.do(t, "RPUSH", b.keys.Ready, text)
	}
}

// claimed puts texts into ready and claims them all.
func (b bench) claimed(t testing.TB, texts ...string) []queue.Claim {
	t.Helper()
	b.ready(t, texts...)
	c, err := b.Claim(t.Context(), len(texts))
	if err != nil || len(c.List) != len(texts) {
		t.Fatalf("claim %d: %d claims, %v", len(texts), len(c.List), err)
	}
	return c.List
}

// leaseOf is the text's score in running as ZSCORE prints it, "" when it is not there.
func (b bench) leaseOf(t testing.TB, text string) queue.Lease {
	t.Helper()
	score := b.do(t, "EVAL", "return redis.call('ZSCORE', KEYS[1], ARGV[1]) or ''", 1, b.keys.Running, text)
	return queue.Lease(fmt.Sprint(score))
}

// Keys is the whole state of a topic. A text's score is written as how far from now it is ("5s", "-1m"), "*" is any.
type Keys struct {
	Pool    map[string]string
	Ready   []string
	Running map[string]string
	Dead    []string
	Marks   map[string]string // by uuid
}

// wantKeys fails the test unless the topic's keys hold exactly want: nothing lost, nothing doubled.
func wantKeys(t testing.TB, b bench, want Keys) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	now := b.nowMS(t)
	zset := func(key string, unit float64) map[string]string {
		list, err := b.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		if err != nil && queue.FaultOf(err) != queue.WrongType {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, z := range list {
			text, _ := z.Member.(string)
			got[text] = strconv.FormatFloat(z.Score*unit-now, 'f', 0, 64)
		}
		return got
	}
	list := func(key string) []string {
		got, err := b.rdb.LRange(ctx, key, 0, -1).Result()
		if err != nil && queue.FaultOf(err) != queue.WrongType {
			t.Fatal(err)
		}
		return got
	}
	compareScored(t, "pool", zset(b.keys.Pool, b.unit()), want.Pool)
	compareScored(t, "running", zset(b.keys.Running, 1), want.Running)
	if got := list(b.keys.Ready); !slices.Equal(got, want.Ready) {
		t.Errorf("ready holds %q, want %q", got, want.Ready)
	}
	if got := list(b.keys.Dead); !slices.Equal(got, want.Dead) {
		t.Errorf("dead holds %q, want %q", got, want.Dead)
	}
	marks, _ := b.rdb.Keys(ctx, b.keys.Idem("*")).Result()
	got := map[string]string{}
	for _, key := range marks {
		got[key[len(b.keys.Idem("")):]] = b.rdb.Get(ctx, key).Val()
	}
	if fmt.Sprint(got) != fmt.Sprint(want.Marks) && len(got)+len(want.Marks) > 0 {
		t.Errorf("marks are %v, want %v", got, want.Marks)
	}
}

// unit is milliseconds in one unit of the pool's scores.
func (b bench) unit() float64 {
	if b.Unit() == queue.Seconds {
		return 1000
	}
	return 1
}

// compareScored compares texts and, within tolerance, how far from now they are.
func compareScored(t testing.TB, key string, got, want map[string]string) {
	t.Helper()
	for text, away := range got {
		expected, ok := want[text]
		if !ok {
			t.Errorf("%s holds %q, want it not there", key, text)
			continue
		}
		if expected == "*" || expected == away {
			continue
		}
		d, err := time.ParseDuration(expected)
		ms, _ := strconv.ParseFloat(away, 64)
		if err != nil || (time.Duration(ms)*time.Millisecond-d).Abs() > tolerance {
			t.Errorf("%s holds %q at %s ms from now, want %s", key, text, away, expected)
		}
	}
	for text := range want {
		if _, ok := got[text]; !ok {
			t.Errorf("%s lacks %q", key, text)
		}
	}
}
