package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// Whatever people and machines ask for, Redis is asked in commands that do not grow with the queue, and in no more of them: a
// MONITOR hears all that pages and verbs send, of a queue and of one three times as long.
func TestNoPageAndNoVerbGrowsWithTheQueue(t *testing.T) {
	t.Parallel()
	s := newBigShop(t, 12)
	s.trail(t)
	s.history(t)
	s.fill(t, 4000)
	ears := newMonitor(t, s.redis.Socket)
	scripts := scriptNames(t)
	p := s.start(s.conf)
	p.wantReady(20 * time.Second)
	wantBounded(t, "the start", ears.take(t, s.rdb))
	asked := func(l look) map[string]int {
		ears.take(t, s.rdb)
		if _, err := p.see(l); err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		commands := ears.take(t, s.rdb)
		wantBounded(t, l.name, commands)
		n := kinds(scripts, commands)
		maps.DeleteFunc(n, func(kind string, _ int) bool { return !forPages[kind] })
		return n
	}
	before := make(map[string]map[string]int)
	for _, l := range s.looks(t, p) {
		before[l.name] = asked(l)
	}
	s.fill(t, 12_000)
	for _, l := range s.looks(t, p) {
		if after := asked(l); !l.steps && !maps.Equal(after, before[l.name]) {
			t.Errorf("%s: asks Redis for %v, with a third of the jobs for %v", l.name, after, before[l.name])
		}
	}
	for _, verb := range [][]string{
		{"status"},
		{"top", "--count", "1"},
		{"find", "ord_web_d0000100"},
		{"find", topic, "--prefix", "ord_web_p", "--limit", "20"},
		{"peek", topic, "--pool", "--offset", "5000"},
		{"dead", "list", topic, "--error", "supplier"},
		{"dead", "show", topic, "ord_web_d0000100"},
		{"dead", "export", bigList},
		{"dead", "drop", topic, "--error", "supplier", "--dry-run"},
		{"doctor"},
	} {
		ears.take(t, s.rdb)
		if _, err := s.run(verb); err != nil {
			t.Errorf("sidecar %s: %v", strings.Join(verb, " "), err)
		}
		commands := ears.take(t, s.rdb)
		if len(commands) == 0 {
			t.Errorf("sidecar %s: nothing was heard", strings.Join(verb, " "))
		}
		wantBounded(t, "sidecar "+strings.Join(verb, " "), commands)
	}
}

// forPages are the commands that only pages and routes make the sidecar send: it sends the others by itself, more or less often.
var forPages = map[string]bool{"peek.lua": true, "lrange": true, "zscan": true, "lindex": true, "zscore": true}

// What the test above looks out for is seen where it happens.
func TestCommandsThatGrowAreKnown(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"keys *":                                true,
		"lrange q 0 -1":                         true,
		"lrange q 0 499":                        false,
		"lrange q 0 500":                        true,
		"lrange q -50 -1":                       false,
		"lrange q -5000 -1":                     true,
		"zrange q 0 -1":                         true,
		"zrangebyscore q -inf +inf":             true,
		"zrangebyscore q -inf +inf limit 0 -1":  true,
		"zrangebyscore q -inf +inf LIMIT 0 500": false,
		"zscan q 0 count 500":                   false,
		"zscan q 0 count 50000":                 true,
		"hgetall q":                             true,
		"hgetall sidecar:alive":                 false,
		"lrem q 1 x":                            true,
		"lrem delay:pool:q -1 x":                false,
		"zcard q":                               false,
	} {
		if got := grows(strings.Fields(line)) != ""; got != want {
			t.Errorf("%s: grows is %t, want %t", line, got, want)
		}
	}
}
