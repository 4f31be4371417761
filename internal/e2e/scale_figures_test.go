package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowest is what Redis's slow log says of a while.
type slowest struct {
	n      int
	kinds  map[string]int
	took   time.Duration
	what   string
	asked  []time.Duration // of those that the look itself made the sidecar send
	others []time.Duration
}

func (s slowest) String() string { return fmt.Sprintf("%s %s", s.took, s.what) }

// slowLog is a slow log that takes note of every command.
type slowLog struct {
	rdb     *redis.Client
	scripts map[string]string
}

func (s *bigShop) newSlowLog(b *testing.B) *slowLog {
	b.Helper()
	for name, value := range map[string]string{"slowlog-log-slower-than": "0", "slowlog-max-len": "100000"} {
		if err := s.rdb.ConfigSet(b.Context(), name, value).Err(); err != nil {
			b.Fatal(err)
		}
	}
	return &slowLog{rdb: s.redis.Client(), scripts: scriptNames(b)}
}

func (l *slowLog) reset(b *testing.B) {
	b.Helper()
	if err := l.rdb.Do(b.Context(), "SLOWLOG", "RESET").Err(); err != nil {
		b.Fatal(err)
	}
}

// read is what happened since the reset.
func (l *slowLog) read(b *testing.B, background map[string]int) slowest {
	b.Helper()
	entries, err := l.rdb.SlowLogGet(b.Context(), -1).Result()
	if err != nil {
		b.Fatal(err)
	}
	s := slowest{kinds: make(map[string]int)}
	for _, e := range entries {
		kind := kindOf(l.scripts, e.Args)
		if kind == "slowlog" {
			continue
		}
		s.n++
		s.kinds[kind]++
		if background[kind] > 0 {
			s.others = append(s.others, e.Duration)
			continue
		}
		s.asked = append(s.asked, e.Duration)
		if e.Duration > s.took {
			s.took, s.what = e.Duration, kind
		}
	}
	return s
}

func (l *slowLog) of(b *testing.B, d time.Duration) slowest {
	b.Helper()
	l.reset(b)
	<-time.After(d)
	return l.read(b, nil)
}

// figure is what several looks at one thing gave.
type figure struct {
	name         string
	size         int
	first, whole []float64 // ms
	slow         []float64 // ms: the slowest command of each look
	what         string    // which was the slowest of all
	asked        []float64 // ms: of all looks, every command
	noise        []float64 // ms: every command that the sidecar sends by itself, a small piece of work each
	commands     string    // those of the last look that the sidecar does not send by itself
}

func (f *figure) add(one seen, slow, background slowest) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	f.size = one.size
	f.first, f.whole = append(f.first, ms(one.first)), append(f.whole, ms(one.whole))
	f.slow = append(f.slow, ms(slow.took))
	for _, d := range slow.asked {
		f.asked = append(f.asked, ms(d))
	}
	for _, d := range slow.others {
		f.noise = append(f.noise, ms(d))
	}
	if slices.Max(f.slow) == ms(slow.took) {
		f.what = slow.what
	}
	f.commands = unlike(slow.kinds, background.kinds)
}

func median(v []float64) float64 { return part(v, .5) }

// part returns the value below which that part of v lies; 0 of nothing.
func part(v []float64, p float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(p*float64(len(v))))]
}

// ratio is how many times b goes into a; "" where one of them is too small to be told.
func ratio(a, b float64) string {
	if a < .05 || b < .02 {
		return ""
	}
	return fmt.Sprintf("%.1f", a/b)
}

// line is f as a line of the table, beside the same with a tenth of the jobs.
func (f *figure) line(few *figure) string {
	commands := f.commands
	if few.commands != commands {
		commands += ", " + few.commands
	}
	return fmt.Sprintf("| %s | %d | %.1f | %.1f | %.1f | %s | %s | %.2f | %.2f | %s | %.2f %s | %.2f |", f.name, f.size>>10,
		median(f.first), slices.Max(f.first), median(f.whole), ratio(median(f.first), median(few.first)), commands,
		median(f.slow), part(f.asked, .99), ratio(median(f.slow), median(few.slow)), slices.Max(f.slow), f.what, part(f.noise, 1))
}

// verbs are the commands that look.
func (s *bigShop) verbs(b *testing.B, slow *slowLog, background slowest) (figures []*figure) {
	n := s.jobs
	for _, verb := range [][]string{
		{"version"}, // the control: what a process costs
		{"status"},
		{"status", "--json"},
		{"top", "--count", "1"},
		{"find", fmt.Sprintf("ord_web_d%07d", n/10)},
		{"find", topic, "--prefix", "ord_web_p", "--limit", "20"},
		{"peek", topic, "--pool"},
		{"peek", topic, "--pool", "--offset", strconv.Itoa(n / 2)},
		{"peek", topic, "--ready"},
		{"peek", topic, "--running"},
		{"dead", "list", topic},
		{"dead", "list", topic, "--error", "supplier"},
		{"dead", "show", topic, fmt.Sprintf("ord_web_d%07d", n/10)},
		{"dead", "export", topic},
		{"dead", "drop", topic, "--error", "supplier", "--dry-run"},
		{"doctor"},
	} {
		f := &figure{name: "sidecar " + strings.Join(verb, " ")}
		tries := scaleTries / 3
		for range tries {
			slow.reset(b)
			one, err := s.run(verb)
			if err != nil {
				b.Errorf("%s: %v", f.name, err)
			}
			f.add(one, slow.read(b, background.kinds), background)
		}
		figures = append(figures, f)
	}
	return figures
}

// run runs a verb and sees when it writes first, and when it ends.
func (s *bigShop) run(verb []string) (seen, error) {
	cmd := exec.Command(binary, verb...)
	if verb[0] != "version" {
		cmd.Args = append(cmd.Args, "-c", s.conf)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return seen{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return seen{}, err
	}
	var one seen
	buffer := make([]byte, 64<<10)
	for {
		n, err := out.Read(buffer)
		if n > 0 && one.first == 0 {
			one.first = time.Since(began)
		}
		if one.size += n; err != nil {
			break
		}
	}
	err = cmd.Wait()
	if one.whole = time.Since(began); one.first == 0 {
		one.first = one.whole
	}
	if err != nil && verb[0] != "doctor" { // it has something to say about this Redis
		return one, fmt.Errorf("%w: %.300s", err, stderr.String())
	}
	return one, nil
}

// footprint logs what the sidecar holds.
func (s *bigShop) footprint(b *testing.B, p *instance, when string) {
	b.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	clients, err := s.rdb.Info(b.Context(), "clients").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, clients, _ = strings.Cut(clients, "connected_clients:")
	clients, _, _ = strings.Cut(clients, "\r")
	tell("%d topics, %d jobs, %s: RSS %.1f MB (most %.1f), %.0f goroutines, %d descriptors, %s clients of Redis", s.topics, s.jobs, when,
		memory(b, p.cmd.Process.Pid, "VmRSS:"), memory(b, p.cmd.Process.Pid, "VmHWM:"), p.metric("go_goroutines"), len(fds), clients)
}

// commandStats are the commands that took longest a call, in scripts, too.
func (s *bigShop) commandStats(b *testing.B) string {
	b.Helper()
	text, err := s.rdb.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	each := make(map[string]float64)
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		_, usec, found := strings.Cut(rest, "usec_per_call=")
		if usec, _, _ = strings.Cut(usec, ","); ok && found && !strings.HasPrefix(name, "slowlog") {
			each[name], _ = strconv.ParseFloat(strings.TrimSpace(usec), 64)
		}
	}
	names := slices.SortedFunc(maps.Keys(each), func(x, y string) int { return int(each[y]*1000) - int(each[x]*1000) })
	var list []string
	for _, name := range names[:min(8, len(names))] {
		list = append(list, fmt.Sprintf("%s %.0f µs", name, each[name]))
	}
	return strings.Join(list, ", ")
}
