package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// rounds is how often each side runs in turn: the machine's load changes from second to second, and what is
// compared has to meet the same.
const rounds = 5

// BenchmarkConsume runs jobs that are ready already, with a handler that does nothing, through workers that stay,
// through one request a job, and through the old consumer, in turn, on one Redis. It logs the medians as a table.
func BenchmarkConsume(b *testing.B) {
	for _, c := range []contest{
		{children: 4, size: 300, jobs: 60_000},
		{children: 4, size: 1 << 10, jobs: 60_000},
		{children: 4, size: 4 << 10, jobs: 30_000},
		{children: 8, size: 300, jobs: 60_000},
		{children: 8, size: 1 << 10, jobs: 60_000},
		{children: 8, size: 4 << 10, jobs: 30_000},
		{children: 4, size: 300, jobs: 60_000, bootstrap: 3 * time.Millisecond},
	} {
		b.Run(c.name(), func(b *testing.B) {
			for b.Loop() {
				logTable(b, consumeHead, c.run(b)...)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

const consumeHead = "| jobs | side | jobs/s | to the old consumer | to mode request | CPU µs a job: sidecar | PHP | Redis |"

// contest is one pairing: so many jobs of a size, with so many processes on each side.
type contest struct {
	children  int
	size      int
	jobs      int
	bootstrap time.Duration // of CPU, what a framework takes to start
}

func (c contest) name() string {
	name := fmt.Sprintf("children=%d,size=%d", c.children, c.size)
	if c.bootstrap > 0 {
		name += fmt.Sprintf(",bootstrap=%s", c.bootstrap)
	}
	return name
}

// side is one of those that consume.
type side struct {
	name  string
	jobs  int
	start func(*rig) pids
	rates []float64
	cpu   [3][]float64 // µs a job: sidecar, PHP, Redis
}

// pids are the processes of a side whose time counts.
type pids struct {
	sidecar int
	php     func() []int
	stop    func()
}

// run lets the sides consume in turn and returns the table's lines.
func (c contest) run(b *testing.B) []string {
	r := newRigWith(b, testenv.FPMOptions{Children: c.children, Opcache: true})
	r.redisURL = "unix://" + r.redis.Socket
	r.write("boot.php", fmt.Sprintf("<?php\nfor ($end = hrtime(true) + %d; hrtime(true) < $end;);\nfunction noop(array $job): void {}\n", c.bootstrap.Nanoseconds()))
	sides := []*side{
		{name: "old consumer", jobs: c.jobs, start: func(r *rig) pids { return r.startOld(b, c.children) }},
		{name: `mode = "request"`, jobs: c.jobs / 15, start: func(r *rig) pids { return r.startNoop("request") }},
		{name: `mode = "worker"`, jobs: c.jobs, start: func(r *rig) pids { return r.startNoop("worker") }},
	}
	if c.bootstrap > 0 {
		sides = sides[1:] // the old one pays it once, as a resident worker does
		sides[0].jobs = c.jobs / 60
	}
	for range rounds {
		for _, s := range sides {
			p := s.start(r)
			r.consume(b, p, s.jobs/10, c.size, nil) // warm: caches, connections, what the sidecar measures
			r.consume(b, p, s.jobs, c.size, s)
			p.stop()
		}
	}
	return c.lines(b, sides)
}

func (c contest) lines(b *testing.B, sides []*side) []string {
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	rates := map[string]float64{}
	for _, s := range sides {
		rates[s.name] = median(s.rates)
	}
	ratio := func(a float64, to string) string {
		if rates[to] == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f", a/rates[to])
	}
	var lines []string
	for _, s := range sides {
		rate := rates[s.name]
		lines = append(lines, fmt.Sprintf("| %s | %s | %.0f | %s | %s | %.1f | %.1f | %.1f |", strings.ReplaceAll(c.name(), ",", ", "), s.name, rate,
			ratio(rate, "old consumer"), ratio(rate, `mode = "request"`), median(s.cpu[0]), median(s.cpu[1]), median(s.cpu[2])))
	}
	worker := rates[`mode = "worker"`]
	b.ReportMetric(worker, "jobs/s")
	b.ReportMetric(worker/rates[`mode = "request"`], "x-request")
	if rates["old consumer"] > 0 {
		b.ReportMetric(worker/rates["old consumer"], "x-old")
	}
	return lines
}

// consume lets the side that runs consume so many jobs, and notes in s how long that took and what it cost.
func (r *rig) consume(b *testing.B, p pids, jobs, size int, s *side) {
	b.Helper()
	r.fill(b, "waiting", jobs, size)
	before, redisBefore := p.cpu(b), r.redisCPU(b)
	began := time.Now()
	if err := r.rdb.Rename(b.Context(), "waiting", "delay:ready:"+topic).Err(); err != nil {
		b.Fatal(err)
	}
	for deadline := began.Add(2 * time.Minute); ; <-time.After(5 * time.Millisecond) {
		if d := r.depths(); d.pool+d.ready+d.running == 0 {
			break
		}
		if time.Now().After(deadline) {
			b.Fatalf("keys still hold %+v", r.depths())
		}
	}
	took := time.Since(began)
	if s == nil {
		return
	}
	after := p.cpu(b)
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(jobs) }
	s.rates = append(s.rates, float64(jobs)/took.Seconds())
	s.cpu[0] = append(s.cpu[0], per(after[0]-before[0]))
	s.cpu[1] = append(s.cpu[1], per(after[1]-before[1]))
	s.cpu[2] = append(s.cpu[2], per(r.redisCPU(b)-redisBefore))
}

// fill puts so many jobs of a size in bytes into a list.
func (r *rig) fill(b *testing.B, key string, jobs, size int) {
	b.Helper()
	const form = `{"uuid":"%032d","topic":"order_timeout","payload":"%s","retry":0,"last_error":""}`
	payload := strings.Repeat("x", size-len(fmt.Sprintf(form, 0, "")))
	for i := 0; i < jobs; {
		pipe := r.rdb.Pipeline()
		for end := min(jobs, i+1000); i < end; i++ {
			pipe.RPush(b.Context(), key, fmt.Sprintf(form, i, payload))
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// startNoop runs the sidecar in a mode on the function noop. Its workers are there before the first job, as the
// old consumer's are.
func (r *rig) startNoop(mode string) pids {
	extra := fmt.Sprintf("call = \"noop\"\nbootstrap = %q\nmode = %q\nmin_workers = %d\nmax_jobs = 1000000\n",
		filepath.Join(r.dir, "boot.php"), mode, r.children)
	r.script = ""
	p := r.start(r.config("log_level = \"info\"", extra))
	p.wantReady(20 * time.Second)
	return pids{sidecar: p.cmd.Process.Pid, php: r.fpm.Children, stop: func() {
		p.signal(syscall.SIGTERM)
		p.wantExit(0, 20*time.Second)
	}}
}

// startOld runs the old consumer with so many workers and two scanners.
func (r *rig) startOld(b *testing.B, workers int) pids {
	b.Helper()
	cmd := exec.Command("php", filepath.Join("..", "..", "testdata", "legacy", "pcntl_pool.php"), "--redis="+r.redis.Socket,
		"--topic="+topic, fmt.Sprintf("--workers=%d", workers), "--scanners=2", "--handler=noop", "--shared-conn=0", "--idle-us=500")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	stop := func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group that we started; nothing is in hand
		_ = cmd.Wait()
	}
	children := func() []int { return testenv.ChildrenOf(cmd.Process.Pid) }
	eventually(b, 10*time.Second, func() error {
		if n := len(children()); n != workers+2 {
			return fmt.Errorf("%d children, want %d", n, workers+2)
		}
		return nil
	})
	return pids{php: children, stop: stop}
}

// cpu returns the processor time used so far by the sidecar and by PHP.
func (p pids) cpu(b *testing.B) (used [2]time.Duration) {
	b.Helper()
	if p.sidecar != 0 {
		used[0] = testenv.CPU(b, p.sidecar)
	}
	for _, pid := range p.php() {
		used[1] += testenv.CPU(b, pid)
	}
	return used
}

func (r *rig) redisCPU(b *testing.B) time.Duration {
	b.Helper()
	return testenv.CPU(b, r.redis.Pid())
}

// BenchmarkMemory reports the sidecar's resident memory while it runs 100,000 jobs that were ready, with 8 workers.
func BenchmarkMemory(b *testing.B) {
	const jobs = 100_000
	r := newRigWith(b, testenv.FPMOptions{Children: 8, Opcache: true})
	r.redisURL = "unix://" + r.redis.Socket
	r.write("boot.php", "<?php\nfunction noop(array $job): void {}\n")
	for b.Loop() {
		p := r.startNoop("worker")
		idle := memory(b, p.sidecar, "VmRSS:")
		r.consume(b, p, jobs, 300, nil)
		most := memory(b, p.sidecar, "VmHWM:")
		b.ReportMetric(most, "MB-RSS")
		logTable(b, "| jobs ready | workers | sidecar's RSS in MB: idle | most |", fmt.Sprintf("| %d | 8 | %.1f | %.1f |", jobs, idle, most))
		p.stop()
	}
	b.ReportMetric(0, "ns/op")
}

// memory returns a size of /proc/pid/status in MB.
func memory(b *testing.B, pid int, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if rest, ok := strings.CutPrefix(line, name); ok {
			if _, err := fmt.Sscanf(rest, "%f kB", &kb); err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	b.Fatalf("no %s", name)
	return 0
}

// logTable logs lines of a table in Markdown; `make bench-worker` puts them together.
func logTable(b *testing.B, head string, lines ...string) {
	b.Helper()
	b.Log("\n" + tableOf(head, lines...))
}

func tableOf(head string, lines ...string) string {
	rule := strings.Repeat("| --- ", strings.Count(head, "|")-1) + "|"
	return strings.Join(append([]string{head, rule}, lines...), "\n")
}
