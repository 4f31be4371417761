package queue_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// wire stands between a test's sidecars and Redis, as a hook of their client. It notes each script call, breaks the
// one it is told to, and may send another text in place of a script. One goroutine may use it.
type wire struct {
	scripts map[string]luaScript // by the SHA-1 of the shipped text
	calls   []call               // since begin
	fault   wireFault
	at      int       // which command from now the fault hits
	noMarks func()    // called when the marks cannot be read
	time    time.Time // what TIME says, if set
}

// luaScript is a script as Redis gets it in place of the shipped one.
type luaScript struct{ verb, source, sha string }

// call is one script call as a sidecar made it.
type call struct {
	verb  string
	keys  []string
	args  []string
	ran   bool // Redis got to see it
	reply any
	err   error // Redis's answer
}

// wireFault is what happens to one command on its way.
type wireFault int

// The faults of the wire. They start at 1; 0 is none.
const (
	cutBefore wireFault = iota + 1 // the connection breaks, and Redis has not seen the command
	cutAfter                       // Redis has done it, and the reply is lost
	noDial                         // there was no connection to send it on
	loading                        // Redis says that it has just started
	readOnly                       // Redis says that it is a replica
)

// modelClock lets redis.call('TIME') read a key. It stands before the script, whose own text stays as shipped.
const modelClock = `local real = redis; local redis = setmetatable({call = function(name, ...) ` +
	`if name == 'TIME' then return real.call('LRANGE', 'clock', 0, 1) end return real.call(name, ...) end}, {__index = real}) `

// asShipped leaves every script as it is.
func asShipped(_, source string) string { return source }

// newWire returns a wire that sends each script as change returns it.
func newWire(t testing.TB, change func(verb, source string) string) *wire {
	t.Helper()
	paths, err := filepath.Glob("lua/*.lua")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	w := &wire{scripts: make(map[string]luaScript)}
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		verb := strings.TrimSuffix(filepath.Base(path), ".lua")
		changed := change(verb, string(source))
		w.scripts[shaOf(string(source))] = luaScript{verb: verb, source: changed, sha: shaOf(changed)}
	}
	return w
}

// client returns a client on which w stands. A user of that name, with password pw, must exist before it is used.
func (w *wire) client(t testing.TB, server *testenv.RedisServer, user string) *redis.Client {
	opts := *server.Client().Options()
	if user != "" {
		opts.Username, opts.Password = user, "pw"
	}
	rdb := redis.NewClient(&opts)
	rdb.AddHook(w)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// begin forgets the calls of the last step and arms a fault for command number at of the next.
func (w *wire) begin(fault wireFault, at int) {
	w.calls, w.fault, w.at, w.noMarks = nil, fault, at, nil
}

// DialHook lets connections be as they are.
func (w *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook refuses pipelines: a script in one would not be seen.
func (w *wire) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return fmt.Errorf("a pipeline") }
}

// ProcessHook sees each command.
func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		one := w.script(cmd)
		fault := w.hit()
		err := refusals[fault]
		if err == nil {
			err = next(ctx, cmd)
			one.ran, one.err = true, err
		}
		switch reply := cmd.(type) {
		case *redis.Cmd:
			one.reply = reply.Val()
		case *redis.TimeCmd:
			if !w.time.IsZero() {
				reply.SetVal(w.time)
			}
		}
		if one.verb != "" && !redis.HasErrorPrefix(one.err, "NOSCRIPT") {
			w.calls = append(w.calls, one)
		}
		if fault == cutAfter {
			err = errCut
		}
		if err != nil {
			cmd.SetErr(err)
			if cmd.Name() == "mget" && w.noMarks != nil {
				w.noMarks()
			}
		}
		return err
	}
}

// script puts our text of a script in place of the shipped one.
func (w *wire) script(cmd redis.Cmder) call {
	args := cmd.Args()
	sha := ""
	switch cmd.Name() {
	case "evalsha":
		sha, _ = args[1].(string)
	case "eval":
		source, _ := args[1].(string)
		sha = shaOf(source)
	default:
		return call{}
	}
	lua, ok := w.scripts[sha]
	if !ok {
		return call{}
	}
	args[1] = lua.sha
	if cmd.Name() == "eval" {
		args[1] = lua.source
	}
	n, _ := args[2].(int)
	one := call{verb: lua.verb}
	for i, arg := range args[3:] {
		if i < n {
			one.keys = append(one.keys, fmt.Sprint(arg))
			continue
		}
		if text, ok := arg.(*string); ok {
			arg = *text
		}
		one.args = append(one.args, fmt.Sprint(arg))
	}
	return one
}

// hit returns the fault for this command, once.
func (w *wire) hit() wireFault {
	if w.fault == 0 || w.at > 0 {
		w.at--
		return 0
	}
	fault := w.fault
	w.fault = 0
	return fault
}

var errCut = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// refusals are the errors of the faults that keep Redis from seeing a command.
var refusals = map[wireFault]error{
	cutBefore: errCut,
	noDial:    &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
	loading:   replyError("LOADING Redis is loading the dataset in memory"),
	readOnly:  replyError("READONLY You can't write against a read only replica."),
}

// replyError is an error reply.
type replyError string

// Error returns its text.
func (s replyError) Error() string { return string(s) }

// RedisError marks it as a reply, as redis.Error asks.
func (replyError) RedisError() {}
