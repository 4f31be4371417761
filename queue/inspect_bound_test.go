package queue_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/queue"
)

// What people look at and move is read and moved by commands of bounded work, however much lies there: a proxy
// sees what is asked for, and Redis tells which commands the scripts use.
func TestNoCommandOfThoseWhoLookGrowsWithTheQueue(t *testing.T) {
	for _, list := range []bool{false, true} {
		b := newBench(t, nil)
		if list {
			b = newListBench(t, 2, nil).bench
		}
		fill(t, b, 6000)
		seen := &spans{t: t}
		proxy := newProxy(t, b.server.Addr, seen.answer)
		rdb := redis.NewClient(&redis.Options{Addr: proxy.addr, MaxRetries: -1})
		t.Cleanup(func() { _ = rdb.Close() })
		s := b.over(rdb, list)
		queue.SetNearEnd(s, 100)
		b.do(t, "CONFIG", "RESETSTAT")

		for _, place := range queue.Places() {
			for _, offset := range []int64{0, 3000, 5990} {
				e := onePage(t, s, place, offset)
				if _, err := s.Entry(t.Context(), e.Ref()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, q := range []queue.Query{{UUID: "x5000"}, {Error: "boo", Oldest: true}, {Since: time.Now()}} {
			searchAll(t, s, q, nil)
		}
		for _, offset := range []int64{0, 90, 3000} {
			e := onePage(t, s, queue.InDead, offset)
			undone(t, s, replayOne(t, s, e, queue.ReplayOptions{}), false, queue.Restored)
			undone(t, s, dropOne(t, s, onePage(t, s, queue.InDead, offset)), false, queue.Restored)
		}
		if seen.most > 500 || seen.most < 400 {
			t.Errorf("a command asked for %d texts, want 500 at most", seen.most)
		}
		if n := b.callsOf(t, "lset"); n < 2 {
			t.Errorf("LSET was called %d times: the deep records were not taken by it", n)
		}
		for _, not := range []string{"linsert", "lpos", "sort", "hgetall", "smembers", "keys", "del"} {
			if n := b.callsOf(t, not); n > 0 {
				t.Errorf("%s was called %d times", strings.ToUpper(not), n)
			}
		}
	}
}

// over is b's Store on another client.
func (b bench) over(rdb redis.UniversalClient, list bool) *queue.Store {
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	if list {
		l := queue.DefaultListOptions()
		l.Key, l.Dead, l.Shards, l.Default = smsKey, smsDead, 2, true
		opts.List, opts.Retry = &l, queue.DefaultListRetry()
	}
	return queue.NewStore(rdb, "", opts)
}

// callsOf is how often Redis ran a command, in scripts, too.
func (b bench) callsOf(t *testing.T, command string) int {
	t.Helper()
	stats := b.rdb.Info(context.WithoutCancel(t.Context()), "commandstats").Val()
	_, line, ok := strings.Cut(stats, "cmdstat_"+command+":calls=")
	if !ok {
		return 0
	}
	n, _, _ := strings.Cut(line, ",")
	calls, _ := strconv.Atoi(n)
	return calls
}

// spans are how many texts the commands that a proxy saw asked for, at most.
type spans struct {
	t    *testing.T
	mu   sync.Mutex // guards most
	most int
}

func (s *spans) answer(command []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := func(i int) int {
		n, err := strconv.Atoi(command[i])
		if err != nil {
			s.t.Errorf("%q: %v", command[:min(len(command), 8)], err)
		}
		return n
	}
	asked := 0
	switch command[0] {
	case "lrange":
		asked = number(3) - number(2) + 1
		if asked < 0 {
			s.t.Errorf("an open range: %q", command)
		}
	case "zscan":
		asked = number(len(command) - 1)
	case "zrangebyscore":
		asked = number(len(command) - 1)
	case "evalsha", "eval": // peek's key, end, first, most, bytes
		if len(command) == 8 && (command[4] == "ZSET" || command[4] == "HEAD" || command[4] == "TAIL") {
			asked = number(6)
		}
	case "time", "hello", "client", "get", "ping":
	default:
		s.t.Errorf("%s was sent", command[0])
	}
	s.most = max(s.most, asked)
	return forward
}
