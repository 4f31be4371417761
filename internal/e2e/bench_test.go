package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// BenchmarkLateness enqueues 200 jobs a second from PHP for ten seconds and reports how late their PHP code
// started, the way through PHP-FPM included.
func BenchmarkLateness(b *testing.B) {
	r := newBenchRig(b, 8)
	r.write("late.php", `<?php file_put_contents(__DIR__ . '/runs.log', sprintf("L %.3f\n", microtime(true) * 1000 - $job['due']), FILE_APPEND);`)
	r.script = "late.php"
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	for b.Loop() {
		r.phpProducer(b, "--n=2000", "--rate=200", "--due=delay:500")
		r.wantEmpty(10 * time.Second)
	}
	late := r.numbers(b, "L")
	b.ReportMetric(quantile(late, 0.50), "p50-ms")
	b.ReportMetric(quantile(late, 0.99), "p99-ms")
	b.ReportMetric(late[len(late)-1], "max-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle reports what five topics without work cost: commands a second to Redis and the share of a core.
func BenchmarkIdle(b *testing.B) {
	const quiet = 20 * time.Second
	r := newBenchRig(b, 4)
	config := r.config("", "")
	text, err := os.ReadFile(config)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 4 {
		text = fmt.Appendf(text, "\n[topic.quiet_%d]\nscript = %q\n", i, filepath.Join(r.dir, "record.php"))
	}
	p := r.start(r.write("sidecar.toml", string(text)))
	p.wantReady(10 * time.Second)
	for b.Loop() {
		commands, cpu := r.commands(b), p.cpu(b)
		<-time.After(quiet)
		b.ReportMetric(float64(r.commands(b)-commands-1)/quiet.Seconds(), "commands/s")
		b.ReportMetric(100*(p.cpu(b)-cpu).Seconds()/quiet.Seconds(), "%core")
	}
	b.ReportMetric(0, "ns/op")
}

// newBenchRig is a shop as it runs in production: opcache on, and a Redis that does not wait for its disk.
func newBenchRig(b *testing.B, children int) *rig {
	b.Helper()
	fpm := testenv.FPMOptions{Children: children, Opcache: true}
	return newRigOn(b, fpm, testenv.Redis(b))
}

// phpProducer runs the shops' producer from testdata/legacy.
func (r *rig) phpProducer(b *testing.B, args ...string) {
	b.Helper()
	args = append([]string{filepath.Join("..", "..", "testdata", "legacy", "producer.php"), "--redis=" + r.redis.Socket, "--topic=" + topic}, args...)
	if out, err := exec.Command("php", args...).CombinedOutput(); err != nil {
		b.Fatalf("produce: %v\n%s", err, out)
	}
}

// sentCommand matches the commands that a sidecar sends, not those that its scripts call.
var sentCommand = regexp.MustCompile(`cmdstat_(?:evalsha|eval|ping|client\S*|subscribe|mget|info|hello)[^:]*:calls=(\d+)`)

// commands returns how many commands were sent to Redis.
func (r *rig) commands(b *testing.B) (sent int) {
	b.Helper()
	info, err := r.rdb.Info(context.Background(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range sentCommand.FindAllStringSubmatch(info, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			b.Fatal(err)
		}
		sent += n
	}
	return sent
}

// cpu returns the processor time the sidecar has used.
func (p *instance) cpu(b *testing.B) time.Duration {
	b.Helper()
	return time.Duration(p.metric("process_cpu_seconds_total") * float64(time.Second))
}

// numbers returns the values of a mark in the handler's log, sorted.
func (r *rig) numbers(b *testing.B, mark string) []float64 {
	b.Helper()
	var all []float64
	for value, n := range r.runs(mark) {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, slices.Repeat([]float64{v}, n)...)
	}
	slices.Sort(all)
	return all
}

func quantile(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }
