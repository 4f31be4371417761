package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// The tests here are cases from the field (docs/field-cases.md) that ask for a running sidecar and a Redis, or the
// way to it, that misbehaves. Most of them wait more than they work, so they go side by side.

// through writes a configuration like rig.config, but with this in its [redis] table instead of the url.
func (r *rig) through(redisTable, topicExtra string) string {
	r.t.Helper()
	path := r.config("", topicExtra)
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.write("sidecar.toml", strings.Replace(string(text), fmt.Sprintf("url = %q", r.redis.URL()), redisTable, 1))
}

// C34, C37: a framework's prefix is found, then used for all four keys, and no other application's key is touched.
func TestAKeyPrefixStandsBeforeEveryKeyAndOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	const prefix = "laravel_database_"
	r := newRig(t, 2)
	ctx := context.Background()
	ours := func(uuid string) string { return fmt.Sprintf(`{"uuid":%q,"retry":0,"fail_once":true}`, uuid) }
	add := func(rdb *redis.Client, key, text string) {
		t.Helper()
		if err := rdb.ZAdd(ctx, key, redis.Z{Score: 1, Member: text}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	add(r.rdb, prefix+"delay:pool:"+topic, ours("a"))
	add(r.rdb, prefix+"delay:pool:"+topic, "no job")
	p := r.start(r.config("", ""))
	eventually(t, 10*time.Second, func() error {
		if p.count("set key_prefix") != 1 || p.count(prefix+"delay:pool:"+topic) != 1 {
			return fmt.Errorf("the log does not name the prefixed keys")
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 5*time.Second)

	otherDB := r.rdb.Options()
	inDB1 := redis.NewClient(&redis.Options{Network: otherDB.Network, Addr: otherDB.Addr, DB: 1, DisableIdentity: true})
	defer func() { _ = inDB1.Close() }()
	add(inDB1, prefix+"delay:pool:"+topic, ours("in database 1"))
	add(r.rdb, "staging_delay:pool:"+topic, ours("staging"))
	add(r.rdb, "delay:pool:"+topic, ours("no prefix"))
	r.start(r.through(fmt.Sprintf("url = %q\nkey_prefix = %q", r.redis.URL(), prefix), `retry = ["300ms"]`))
	eventually(t, 20*time.Second, func() error {
		keys, err := r.rdb.Keys(ctx, "*").Result()
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return ofPulse(prefix, key) })
		slices.Sort(keys)
		if !slices.Equal(keys, []string{"delay:pool:" + topic, prefix + "delay:dead:" + topic, "staging_delay:pool:" + topic}) {
			return fmt.Errorf("keys %q, want the two of other applications, and dead with its prefix", keys)
		}
		return nil
	})
	r.wantOneRunEach(1)
	if n := r.rdb.LLen(ctx, prefix+"delay:dead:"+topic).Val(); n != 1 {
		t.Errorf("dead holds %d records, want 1", n)
	}
	if n := inDB1.ZCard(ctx, prefix+"delay:pool:"+topic).Val(); n != 1 {
		t.Errorf("database 1 holds %d of its jobs, want 1", n)
	}
}

// C105: a Redis that loads its data, at the start and in the middle, ends no process.
func TestALoadingRedisIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	between := newProxy(t, r.redis.Addr)
	between.setLoading(true)
	p := r.start(r.through(fmt.Sprintf("url = \"redis://%s\"", between.addr), ""))
	r.produce(20, 0, 0, 0)
	p.wantNotReady("LOADING", 10*time.Second)
	between.setLoading(false)
	p.wantReady(15 * time.Second)
	r.wantEmpty(10 * time.Second)
	between.setLoading(true)
	r.produce(20, 0, 0, 0)
	p.wantNotReady("LOADING", 10*time.Second)
	between.setLoading(false)
	r.wantEmpty(15 * time.Second)
	p.wantReady(5 * time.Second)
	r.wantNoRetries()
	if n := p.count("level=WARN") + p.count("level=ERROR"); n > 12 {
		t.Errorf("%d warnings and errors for two gaps", n)
	}
}

// C119: connections that were forgotten without a word, the one that hears of new jobs among them.
func TestAForgottenConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	between := newProxy(t, r.redis.Addr)
	p := r.start(r.through(fmt.Sprintf("url = \"redis://%s\"", between.addr), ""))
	p.wantReady(10 * time.Second)
	r.produce(10, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
	if n := between.swallow(); n < 2 {
		t.Fatalf("%d connections, want that of the commands and the one that listens", n)
	}
	began := time.Now()
	r.push(`{"uuid":"after"}`)
	r.wantEmpty(time.Minute)
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the job after the loss was gone after %s, want a poll and a few timeouts of 5 s", took)
	}
	r.wantOneRunEach(11)
	r.wantNoRetries()
}

// C120: what Redis closes for being idle costs no job anything.
func TestConnectionsThatRedisClosesWhenIdleCostNothing(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, testenv.FPMOptions{Children: 2}, testenv.Redis(t, "timeout 1"))
	p := r.start(r.config("", "retry = [\"100ms\"]\nscan_interval = \"10s\""))
	p.wantReady(10 * time.Second)
	// A run that lasts longer than Redis's patience: then its verdict is the first command for long.
	r.push(`{"uuid":"good","sleep_ms":3000}`)
	r.push(`{"uuid":"bad","sleep_ms":3000,"fail_once":true}`)
	r.wantEmpty(20 * time.Second)
	r.wantOneRunEach(2)
	if n := r.retried(); n != 1 {
		t.Errorf("%d runs had a try counted, want the one that failed", n)
	}
	if n := p.count("redis refuses"); n != 0 {
		t.Errorf("%d log lines tell of errors at Redis, want none", n)
	}
}

// C67: the jobs are done, Redis is away just then, and the release script has come.
func TestAVerdictOutlivesAnOutageAndTERM(t *testing.T) {
	t.Parallel()
	r := newLastingRig(t, 2)
	p := r.start(r.config(`log_level = "debug"`, ""))
	r.push(`{"uuid":"good","wait":"go"}`)
	r.push(`{"uuid":"bad","wait":"go","fail_once":true}`)
	r.wantStarted(2)
	r.redis.Stop()
	r.write("go", "")
	eventually(t, 10*time.Second, func() error {
		if p.count("step=complete") == 0 || p.count("step=requeue") == 0 {
			return fmt.Errorf("the verdicts have not met the outage yet")
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.wantNotReady("stopping", 5*time.Second)
	r.redis.Start()
	p.wantExit(0, 10*time.Second)
	if d := r.depths(); d.pool != 1 || d.ready+d.running+d.dead != 0 {
		t.Errorf("keys hold %+v, want the failed job in the pool and nothing else", d)
	}
	if s := r.runs("S"); s["good"] != 1 || s["bad"] != 1 {
		t.Errorf("runs %v, want one each", s)
	}
}
