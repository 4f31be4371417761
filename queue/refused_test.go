package queue_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// moves are all that write, each on a topic where "p" is due, "r" is ready and "h" is held under lease.
var moves = map[string]func(ctx context.Context, b bench, lease queue.Lease) error{
	"promote": func(ctx context.Context, b bench, _ queue.Lease) error { _, err := b.Promote(ctx); return err },
	"claim":   func(ctx context.Context, b bench, _ queue.Lease) error { _, err := b.Claim(ctx, 5); return err },
	"renew": func(ctx context.Context, b bench, lease queue.Lease) error {
		_, err := b.Renew(ctx, []queue.Renewal{{Text: "h", Held: lease, Next: "9999999999999"}})
		return err
	},
	"complete": func(ctx context.Context, b bench, lease queue.Lease) error {
		r, err := b.Complete(ctx, []queue.Completion{{Text: "h", Held: lease, UUID: "u1"}})
		return errors.Join(err, r[0].Err)
	},
	"requeue": func(ctx context.Context, b bench, lease queue.Lease) error {
		r, err := b.Requeue(ctx, []queue.Requeueing{{Text: "h", Held: lease, NewText: "h'"}})
		return errors.Join(err, r[0].Err)
	},
	"give back": func(ctx context.Context, b bench, lease queue.Lease) error {
		r, err := b.Requeue(ctx, []queue.Requeueing{{Text: "h", Held: lease, NewText: "h", ToReady: true}})
		return errors.Join(err, r[0].Err)
	},
	"bury": func(ctx context.Context, b bench, lease queue.Lease) error {
		r, err := b.Bury(ctx, []queue.Burial{{Text: "h", Held: lease, Record: "dead h"}})
		return errors.Join(err, r[0].Err)
	},
	"replay": func(ctx context.Context, b bench, _ queue.Lease) error {
		_, err := b.Replay(ctx, 1, false, time.UTC)
		return err
	},
	"replay one": func(ctx context.Context, b bench, _ queue.Lease) error {
		e := queue.Entry{Place: queue.InDead, Stored: deadRecord(`{"uuid":"d"}`), Index: 0, Length: 1}
		m, err := b.PlanReplay(ctx, e, queue.ReplayOptions{}, time.UTC)
		if err != nil {
			return err
		}
		_, err = b.Move(ctx, m)
		return err
	},
}

// prepare fills a topic for moves and returns the lease of "h".
func prepare(t *testing.T, b bench) queue.Lease {
	t.Helper()
	b.do(t, "FLUSHALL")
	lease := b.claimed(t, "h")[0].Lease
	b.do(t, "ZADD", b.keys.Pool, 1, "p")
	b.ready(t, "r")
	b.do(t, "RPUSH", b.keys.Dead, deadRecord(`{"uuid":"d"}`))
	return lease
}

func prepared() Keys {
	return Keys{
		Pool:    map[string]string{"p": "*"},
		Ready:   []string{"r"},
		Running: map[string]string{"h": "30s"},
		Dead:    []string{deadRecord(`{"uuid":"d"}`)},
	}
}

// C39: a key of the wrong type. Nothing moves, nothing is lost, the error names the key and both types.
func TestWrongTypeLosesNothing(t *testing.T) {
	type broken struct{ verb, key string }
	server := testenv.Redis(t)
	b := benchOn(server, nil)
	for _, test := range []broken{
		{"promote", b.keys.Ready},
		{"promote", b.keys.Pool},
		{"claim", b.keys.Ready},
		{"claim", b.keys.Running},
		{"claim", b.keys.Pool},
		{"renew", b.keys.Running},
		{"complete", b.keys.Running},
		{"requeue", b.keys.Running},
		{"requeue", b.keys.Pool},
		{"give back", b.keys.Ready},
		{"bury", b.keys.Running},
		{"bury", b.keys.Dead},
		{"replay", b.keys.Dead},
		{"replay", b.keys.Pool},
		{"replay one", b.keys.Dead},
		{"replay one", b.keys.Pool},
	} {
		t.Run(test.verb+" "+test.key, func(t *testing.T) {
			b := benchOn(server, nil)
			lease := prepare(t, b)
			b.do(t, "RENAME", test.key, "aside")
			b.do(t, "SET", test.key, "x")
			err := moves[test.verb](t.Context(), b, lease)
			if queue.FaultOf(err) != queue.WrongType {
				t.Fatalf("error %v, want WRONGTYPE", err)
			}
			if test.verb != "requeue" && test.verb != "give back" && test.verb != "bury" || test.key == b.keys.Running {
				if !strings.Contains(err.Error(), test.key+" is a string, want a ") {
					t.Errorf("error %q does not name key and types", err)
				}
			}
			b.do(t, "DEL", test.key)
			b.do(t, "RENAME", "aside", test.key)
			wantKeys(t, b, prepared())
			if err := moves[test.verb](t.Context(), b, lease); err != nil {
				t.Errorf("after the key is mended: %v", err)
			}
		})
	}
}

// C101: at maxmemory, what takes away goes on, and what must add goes through as well, since each
// script begins with a removal.
func TestQueuesDrainAtMaxmemory(t *testing.T) {
	server := testenv.Redis(t, "maxmemory-policy noeviction")
	for verb, move := range moves {
		t.Run(verb, func(t *testing.T) {
			b := benchOn(server, withMarks(queue.IdempotencyOn))
			b.do(t, "CONFIG", "SET", "maxmemory", "0")
			lease := prepare(t, b)
			b.do(t, "CONFIG", "SET", "maxmemory", "1")
			if err := b.rdb.Do(t.Context(), "ZADD", b.keys.Pool, 1, "x").Err(); queue.FaultOf(err) != queue.OOM {
				t.Fatalf("a plain ZADD says %v, want OOM", err)
			}
			if err := move(t.Context(), b, lease); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	b := benchOn(server, nil)
	if err := b.Push(t.Context(), "x", 0); queue.FaultOf(err) != queue.OOM {
		t.Errorf("push at maxmemory says %v, want OOM: producers are refused", err)
	}
}

// Servers that take no writes for a time: a replica (a failover is on its way), and one whose disk is full (C107).
func TestMovesWaitForAServerThatTakesNoWrites(t *testing.T) {
	server := testenv.Redis(t, "enable-protected-configs yes", "save 3600 1")
	admin := benchOn(server, nil)
	host, port, _ := net.SplitHostPort(testenv.FreeAddr(t))
	states := map[queue.Fault]struct{ enter, leave func() }{
		queue.ReadOnly: {
			enter: func() { admin.do(t, "REPLICAOF", host, port) },
			leave: func() { admin.do(t, "REPLICAOF", "NO", "ONE") },
		},
		queue.MisConf: {
			enter: func() {
				admin.do(t, "CONFIG", "SET", "dir", "/proc")
				admin.do(t, "BGSAVE")
				testenv.Poll(t, patience, "the save to fail", func() bool {
					return strings.Contains(admin.rdb.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:err")
				})
			},
			leave: func() { admin.do(t, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no") },
		},
	}
	for _, fault := range []queue.Fault{queue.ReadOnly, queue.MisConf} {
		b := benchOn(server, nil)
		lease := prepare(t, b)
		states[fault].enter()
		for verb, move := range moves {
			if err := move(t.Context(), b, lease); queue.FaultOf(err) != fault {
				t.Errorf("%s: %v, want %s", verb, err, fault)
			}
		}
		wantKeys(t, b, prepared())
		states[fault].leave()
		for verb, move := range moves {
			if err := move(t.Context(), b, prepare(t, b)); err != nil {
				t.Errorf("%s afterwards: %v", verb, err)
			}
		}
	}
}

// An ACL user who lacks one command: whatever a script has added and removed by then, no text may be missing.
func TestNoPermLosesNothing(t *testing.T) {
	server := testenv.Redis(t)
	admin := benchOn(server, nil)
	for _, command := range []string{"zadd", "lpush", "rpush", "lpop", "zrem", "zremrangebyrank", "ltrim", "zscore", "lrange", "time", "set", "get"} {
		for verb, move := range moves {
			t.Run(verb+" without "+command, func(t *testing.T) {
				lease := prepare(t, admin)
				user := asUser(t, admin, "~*", "+@all", "-"+command)
				err := move(t.Context(), user, lease)
				if err != nil && queue.FaultOf(err) != queue.NoPerm {
					t.Errorf("error %v, want NOPERM or none", err)
				}
				wantEachSomewhere(t, admin, verb)
			})
		}
	}
}

// asUser returns a bench whose Redis client is an ACL user with the given rules.
func asUser(t *testing.T, admin bench, rules ...any) bench {
	t.Helper()
	admin.do(t, append([]any{"ACL", "SETUSER", "app", "reset", "on", ">pw"}, rules...)...)
	opts := *admin.rdb.Options()
	opts.Username, opts.Password, opts.MaxRetries = "app", "pw", -1
	rdb := redis.NewClient(&opts)
	t.Cleanup(func() { _ = rdb.Close() })
	o := queue.DefaultOptions()
	o.Topic = "mail"
	user := admin
	user.rdb, user.Store = rdb, queue.NewStore(rdb, "", o)
	return user
}

// wantEachSomewhere fails unless each of prepare's texts, or what it was swapped for, lies in some key.
func wantEachSomewhere(t *testing.T, b bench, verb string) {
	t.Helper()
	d := b.do(t, "EVAL", `
		local all = {}
		for i = 1, 4 do
			local key = KEYS[i]
			local list = i % 2 == 1 and redis.call('ZRANGE', key, 0, -1) or redis.call('LRANGE', key, 0, -1)
			for _, text in ipairs(list) do all[#all + 1] = text end
		end
		return table.concat(all, '\n')`,
		4, b.keys.Pool, b.keys.Ready, b.keys.Running, b.keys.Dead)
	all := strings.Split(fmt.Sprint(d), "\n")
	var has [4]bool
	for _, text := range all {
		has[0] = has[0] || text == "p"
		has[1] = has[1] || text == "r"
		has[2] = has[2] || strings.Contains(text, `"uuid":"d"`)
		has[3] = has[3] || text == "h" || text == "h'" || text == "dead h" || verb == "complete"
	}
	if has != [4]bool{true, true, true, true} {
		t.Errorf("p, r, d, h are there: %v, in %q", has, all)
	}
}
