package queue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// reply is an error of Redis, as go-redis returns it.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestFaultOfKnowsWhatRedisSays(t *testing.T) {
	tests := map[string]queue.Fault{
		"NOSCRIPT No matching script. Please use EVAL.":                                 queue.NoScript,
		"NOSCRIPT No matching script.":                                                  queue.NoScript,
		"READONLY You can't write against a read only replica.":                         queue.ReadOnly,
		"LOADING Redis is loading the dataset in memory":                                queue.Loading,
		"MISCONF Redis is configured to save RDB snapshots, but it's unable to persist": queue.MisConf,
		"OOM command not allowed when used memory > 'maxmemory'.":                       queue.OOM,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL":            queue.Busy,
		"MOVED 3999 127.0.0.1:6381":                                                     queue.Moved,
		"ASK 3999 127.0.0.1:6381":                                                       queue.Moved,
		"TRYAGAIN Multiple keys request during rehashing of slot":                       queue.TryAgain,
		"CLUSTERDOWN Hash slot not served":                                              queue.ClusterDown,
		"MASTERDOWN Link with MASTER is down":                                           queue.ClusterDown,
		"NOREPLICAS Not enough good replicas to write.":                                 queue.ClusterDown,
		"NOPERM this user has no permissions to run the 'zadd' command":                 queue.NoPerm,
		"NOAUTH Authentication required.":                                               queue.NoAuth,
		"WRONGPASS invalid username-password pair or user is disabled.":                 queue.NoAuth,
		"ERR invalid password":                                                          queue.NoAuth,
		"ERR Client sent AUTH, but no password is set":                                  queue.NoAuth,
		"ERR wrong number of arguments for 'auth' command":                              queue.NoAuth,
		"WRONGTYPE Operation against a key holding the wrong kind of value":             queue.WrongType,
		"DENIED Redis is running in protected mode":                                     queue.Refused,
		"ERR max number of clients reached":                                             queue.Refused,
		"ERR unknown command 'eval'":                                                    queue.Other,
		"ERR value is not an integer or out of range":                                   queue.Other,

		// in a script, from Redis 7 on
		"WRONGTYPE Operation against a key holding the wrong kind of value script: 5f41…, on @user_script:14.":                      queue.WrongType,
		"OOM command not allowed when used memory > 'maxmemory'. script: 0f2c…, on @user_script:9.":                                 queue.OOM,
		"ERR ACL failure in script: User app has no permissions to run the 'time' command script: 4e…, on @user_script:3.":          queue.NoPerm,
		"READONLY You can't write against a read only replica. script: 5f41…, on @user_script:14.":                                  queue.ReadOnly,
		"MISCONF Errors writing to the AOF file: No space left on device script: 5f41…, on @user_script:14.":                        queue.MisConf,
		"ERR Error running script, BUSYNESS is no code, on @user_script:1.":                                                         queue.Other,
		"ERR Error running script (call to f_5f41): @user_script:14: WRONGTYPE Operation against a key holding the wrong kind":      queue.WrongType,
		"ERR Error running script (call to f_5f41): @user_script:1: -READONLY You can't write against a read only slave.":           queue.ReadOnly,
		"ERR Error running script (call to f_5f41): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'.":       queue.OOM,
		"ERR Error running script (call to f_5f41): @user_script:1: @user_script: 1: -MISCONF Redis is configured to save":          queue.MisConf,
		"ERR Error running script (call to f_5f41): @user_script:1: -NOPERM The user executing the script can't run this command":   queue.NoPerm,
		"ERR Error running script (call to f_5f41): @user_script:1: -LOADING Redis is loading the dataset in memory":                queue.Loading,
		"ERR Error running script (call to f_5f41): @user_script:9: user_script:9: attempt to compare number with nil":              queue.Other,
		"ERR Error compiling script (new function): user_script:1: unexpected symbol near '!' that mentions neither WRONG nor TYPE": queue.Other,
	}
	for text, want := range tests {
		for _, err := range []error{reply(text), fmt.Errorf("promote mail: %w", reply(text))} {
			if got := queue.FaultOf(err); got != want {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
		}
	}
}

func TestFaultOfKnowsErrorsThatAreNoReplies(t *testing.T) {
	tests := map[queue.Fault][]error{
		queue.Network: {
			io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded, redis.ErrClosed, redis.ErrPoolTimeout,
			&net.OpError{Op: "dial", Err: errors.New("connection refused")},
		},
		queue.Stopped: {context.Canceled},
		queue.Other:   {errors.New("something else")},
	}
	for want, errs := range tests {
		for _, err := range errs {
			if got := queue.FaultOf(fmt.Errorf("claim mail: %w", err)); got != want {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
		}
	}
	if queue.FaultOf(nil) != 0 {
		t.Error("nil is a fault")
	}
}

func TestFaultsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range queue.Faults() {
		if name := f.String(); name == "unknown" || name == "none" || seen[name] {
			t.Errorf("fault %d is called %q", f, name)
		} else {
			seen[name] = true
		}
	}
	if len(seen) != int(queue.Other) || queue.Fault(99).String() != "unknown" || queue.Fault(0).String() != "none" {
		t.Errorf("%d faults, want %d", len(seen), queue.Other)
	}
}
