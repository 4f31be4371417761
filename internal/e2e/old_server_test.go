package e2e

import (
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// oldServer emulates, before a real Redis, a server or proxy that knows only RESP2 and the commands that the sidecar
// needs: no HELLO, no CLIENT, no INFO, no blocking pops. Scripts are held to what Redis 3.2 and 4.0 allow, as far as
// that can be told from their text.
type oldServer struct {
	unknown func(command string) string // what it makes of any other command

	mu      sync.Mutex // guards what follows
	sources map[string]string
	broken  []string // rules that were broken
}

// needed is every command that a whole life of a topic asks for; replay alone needs more than the two first.
var needed = []string{"evalsha", "eval", "llen", "lrange", "time"}

// oldCommands are what our scripts may use on Redis 3.2. LPOS came later, and they only try it.
var oldCommands = []string{
	"TIME", "ZADD", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "ZRANGE", "ZRANGEBYSCORE", "ZSCORE", "ZCARD", "ZCOUNT",
	"LLEN", "LRANGE", "LINDEX", "LSET", "LTRIM", "LREM", "LPUSH", "RPUSH", "LPOP", "GET", "MGET", "SET", "DEL",
	"HLEN", "HGET", "HGETALL", "HSET", "HDEL",
}

var (
	scriptCall  = regexp.MustCompile(`redis\.(p?call)\('([A-Z]+)'`)
	scriptWrite = regexp.MustCompile(`'(ZADD|ZREM|ZREMRANGEBY[A-Z]+|LTRIM|LREM|LPUSH|RPUSH|LPOP|SET|DEL|HSET|HDEL)'`)
	beforeCalls = regexp.MustCompile(`(?s)^.*?redis\.p?call`)
)

// answer is the relay's. Before Redis 5 a script that has read the clock may write only if it has changed its
// replication first, and an EVAL has taught the server the script as SCRIPT LOAD would.
func (o *oldServer) answer(command []string) string {
	if !slices.Contains(needed, command[0]) {
		return o.unknown(command[0])
	}
	if len(command) < 2 || command[0] != "eval" && command[0] != "evalsha" {
		return testenv.Forward
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if command[0] == "evalsha" {
		if o.sources[command[1]] == "" { // the real server may know it from another test
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		return testenv.Forward
	}
	source := command[1]
	if fault := oldFault(source); fault != "" {
		o.broken = append(o.broken, fault)
		return "-ERR Error running script: " + fault + "\r\n"
	}
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	o.sources[hex.EncodeToString(sum[:])] = source
	return testenv.Forward
}

// oldFault says which rule of an old server the script breaks.
func oldFault(source string) string {
	for _, call := range scriptCall.FindAllStringSubmatch(source, -1) {
		if !slices.Contains(oldCommands, call[2]) && (call[1] != "pcall" || call[2] != "LPOS") {
			return "Unknown Redis command called from Lua script: " + call[2]
		}
	}
	switched := strings.Contains(beforeCalls.FindString(source), "redis.replicate_commands()")
	if strings.Contains(source, "'TIME'") && scriptWrite.MatchString(source) && !switched {
		return "Write commands not allowed after non deterministic commands"
	}
	return ""
}

func TestTheEmulatedOldServerRefusesWhatOldOnesDo(t *testing.T) {
	t.Parallel()
	for source, broken := range map[string]bool{
		"redis.call('TIME') redis.call('ZADD', KEYS[1], 1, 'x')":                            true,
		"redis.call('TIME') redis.replicate_commands() redis.call('ZADD', KEYS[1], 1, 'x')": true,
		"redis.replicate_commands() redis.call('TIME') redis.call('ZADD', KEYS[1], 1, 'x')": false,
		"redis.call('TIME') return redis.call('ZCARD', KEYS[1])":                            false,
		"return redis.call('ZPOPMIN', KEYS[1])":                                             true,
		"return redis.call('LPOS', KEYS[1], 'x')":                                           true,
		"return redis.pcall('LPOS', KEYS[1], 'x')":                                          false,
	} {
		if fault := oldFault(source); (fault != "") != broken {
			t.Errorf("%s: %q, want a fault %t", source, fault, broken)
		}
	}
}

func TestAWholeTopicRunsOnOldServersAndProxies(t *testing.T) {
	for name, old := range map[string]struct{ unknown, redisTable string }{
		"that say unknown":                {"-ERR unknown command\r\n", ""},
		"that hang up":                    {testenv.HangUp, ""},
		"that hang up, told by an option": {testenv.HangUp, "protocol = 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &oldServer{unknown: func(string) string { return old.unknown }, sources: map[string]string{}}
			r := newRig(t, 2)
			relay := testenv.NewRelay(t, func() string { return r.redis.Addr }, o.answer)
			config := r.through(fmt.Sprintf("url = \"redis://%s\"\n%s", relay.Addr, old.redisTable), `retry = ["100ms"]`)
			r.runAWholeTopic(config)
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.broken) > 0 {
				t.Errorf("scripts broke the rules of old servers: %q", o.broken)
			}
			if len(o.sources) < 8 {
				t.Errorf("%d scripts were run, want all kinds", len(o.sources))
			}
		})
	}
}

// runAWholeTopic runs every verb, then jobs that end in every way: done, failed and done, dead, expired.
func (r *rig) runAWholeTopic(config string) {
	r.t.Helper()
	r.wantVerbs(config, topic, r.rdb)
	p := r.start(config)
	p.wantReady(20 * time.Second)
	r.produce(40, 200, 4, 0)
	r.push(`{"uuid":"broken","fail":true}`)
	if err := r.rdb.Do(context.Background(), "ZADD", "delay:running:"+topic, 1, `{"uuid":"left behind"}`).Err(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, 40*time.Second, func() error {
		if d := r.depths(); d.pool != 1 || d.ready+d.running != 0 || d.dead != 1 {
			return fmt.Errorf("keys hold %+v, want the job that is not due, and the broken one dead", d)
		}
		return nil
	})
	r.wantOneRunEach(42) // the replayed one and the one left behind, too
	if want := 40/4 + 1; r.retried() != want {
		r.t.Errorf("%d runs had a try counted, want %d", r.retried(), want)
	}
}
