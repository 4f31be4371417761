package e2e

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// longRange is how many texts one command may read.
const longRange = 500

// small are the keys that are read whole: of bounded size by their makers, and asked for it before.
var small = []string{"sidecar:alive", "sidecar:paused", "sidecar:alert"}

// monitor hears every command that a Redis runs, those in scripts, too.
type monitor struct {
	conn net.Conn

	mu       sync.Mutex
	commands []heard // guarded by mu
}

// heard is one command: its name in lower case and what follows it.
type heard struct {
	words  []string
	script bool // a script has called it
}

// newMonitor listens until the test ends.
func newMonitor(t testing.TB, socket string) *monitor {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_, err = conn.Write([]byte("MONITOR\r\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{conn: conn}
	var done sync.WaitGroup
	done.Go(m.read)
	t.Cleanup(func() {
		_ = conn.Close()
		done.Wait()
	})
	return m
}

// read reads lines such as +1339518083.107412 [0 127.0.0.1:60866] "get" "a b", or [0 lua] for what scripts call.
func (m *monitor) read() {
	lines := bufio.NewScanner(m.conn)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		who, rest, ok := strings.Cut(lines.Text(), "] ")
		if !ok {
			continue
		}
		var words []string
		for rest != "" {
			word, err := strconv.QuotedPrefix(rest)
			if err != nil {
				break
			}
			plain, err := strconv.Unquote(word)
			if err != nil { // bytes that Go spells otherwise
				plain = word
			}
			words = append(words, plain)
			rest = strings.TrimPrefix(rest[len(word):], " ")
		}
		if len(words) > 0 {
			words[0] = strings.ToLower(words[0])
			m.mu.Lock()
			m.commands = append(m.commands, heard{words, strings.HasSuffix(who, " lua")})
			m.mu.Unlock()
		}
	}
}

// take returns what was heard since the last time, up to now: a mark is sent and waited for.
func (m *monitor) take(t testing.TB, rdb *redis.Client) (list []heard) {
	t.Helper()
	mark := fmt.Sprintf("mark %d", time.Now().UnixNano()) //nolint:forbidigo // a name
	if err := rdb.Echo(t.Context(), mark).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		i := slices.IndexFunc(m.commands, func(h heard) bool { return h.words[0] == "echo" && h.words[1] == mark })
		if i < 0 {
			return fmt.Errorf("%d commands heard, and not the mark", len(m.commands))
		}
		list, m.commands = m.commands[:i], slices.Clone(m.commands[i+1:])
		return nil
	})
	return list
}

// kindOf names a command, a script by its file.
func kindOf(scripts map[string]string, words []string) string {
	name := strings.ToLower(words[0])
	if name == "evalsha" && len(words) > 1 {
		if script := scripts[words[1]]; script != "" {
			return script + ".lua"
		}
	}
	return name
}

// kinds counts what clients have sent, by its kind.
func kinds(scripts map[string]string, commands []heard) map[string]int {
	n := make(map[string]int)
	for _, c := range commands {
		if !c.script {
			n[kindOf(scripts, c.words)]++
		}
	}
	return n
}

// grows says why a command may take longer where more jobs lie; "" when it may not.
func grows(c []string) string {
	number := func(i int) int {
		n, err := strconv.Atoi(c[i])
		if err != nil {
			return 0
		}
		return n
	}
	switch c[0] {
	case "keys", "smembers", "sort", "sort_ro", "hvals", "hkeys", "lpos", "linsert", "zunionstore", "zinterstore", "del", "flushdb", "flushall":
		return "it reads or walks all there is"
	case "hgetall":
		if !slices.ContainsFunc(small, func(s string) bool { return strings.HasPrefix(c[1], s) }) {
			return "it reads a whole hash"
		}
	case "lrange", "zrange", "zrevrange":
		from, to := number(2), number(3)
		if (from < 0) != (to < 0) && to < 0 || to-from+1 > longRange {
			return fmt.Sprintf("it reads more than %d texts, or all", longRange)
		}
	case "zrangebyscore", "zrevrangebyscore", "zrangebylex":
		i := slices.IndexFunc(c, func(word string) bool { return strings.EqualFold(word, "limit") })
		if i < 0 || number(i+2) < 0 || number(i+2) > longRange {
			return fmt.Sprintf("it has no LIMIT of at most %d", longRange)
		}
	case "zscan", "hscan", "sscan": // SCAN goes through names of keys, and these do not become more
		if i := slices.IndexFunc(c, func(word string) bool { return strings.EqualFold(word, "count") }); i > 0 && number(i+1) > longRange {
			return fmt.Sprintf("its COUNT is above %d", longRange)
		}
	case "lrem":
		if !strings.Contains(c[1], "pool") { // that is of another type: who asks only wants to know whether it may
			return "it looks through a list"
		}
	}
	return ""
}

// wantBounded fails for commands that grow with the queue.
func wantBounded(t *testing.T, name string, commands []heard) {
	t.Helper()
	told := make(map[string]bool)
	for _, one := range commands {
		c := one.words
		if why := grows(c); why != "" && !told[c[0]+why] {
			told[c[0]+why] = true
			t.Errorf("%s: %.120q: %s", name, c[:min(len(c), 6)], why)
		}
	}
}

// unlike are the kinds of n that are not in background, as they are shown.
func unlike(n, background map[string]int) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		if background[kind] == 0 {
			list = append(list, fmt.Sprintf("%s×%d", kind, n[kind]))
		}
	}
	return strings.Join(list, " ")
}
