package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// patience is how long a test waits for what should come at once, on a busy machine.
const patience = time.Minute

// flow is a Consumer of the topic "mail" at work.
type flow struct {
	consumer  *queue.Consumer
	gate      *slots
	metrics   *prometheus.Registry
	log       *logBook
	incidents *queue.Incidents

	stopTaking, stopWorking context.CancelFunc
	ended                   chan struct{}
}

// startFlow runs a Consumer on b until the test ends. change edits the default options and is the one b was
// made with. It polls: no Waker tells it of changes.
func startFlow(t testing.TB, b bench, change func(*queue.Options), handle func(context.Context, compat.Job) compat.Outcome) *flow {
	t.Helper()
	return startWoken(t, b, change, handle, queue.Wakes{}, func() bool { return false })
}

func startWoken(t testing.TB, b bench, change func(*queue.Options), handle func(context.Context, compat.Job) compat.Outcome, wakes queue.Wakes, tracking func() bool) *flow {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers, opts.ScanInterval = "mail", 4, 10*time.Millisecond
	if change != nil {
		change(&opts)
	}
	f := &flow{
		gate:      newSlots(opts.Workers * max(1, opts.LookAhead)),
		metrics:   prometheus.NewRegistry(),
		log:       &logBook{},
		incidents: queue.NewIncidents(),
		ended:     make(chan struct{}),
	}
	metrics := queue.NewMetrics(f.metrics, []string{opts.Topic})
	log := slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.consumer = queue.NewConsumer(opts, queue.Parts{
		Store: b.Store, Watch: b.watch(opts), Wakes: wakes, Tracking: tracking, Handler: handlerFunc(handle), Gate: f.gate,
		Metrics: metrics, Incidents: f.incidents, Outages: queue.NewOutages(log), Timezone: time.UTC, Log: log,
	})
	f.run(t)
	return f
}

// run has the Consumer work until the test ends.
func (f *flow) run(t testing.TB) {
	t.Helper()
	background := context.WithoutCancel(t.Context())
	take, stopTaking := context.WithCancel(background)
	work, stopWorking := context.WithCancel(background)
	f.stopTaking, f.stopWorking = stopTaking, stopWorking
	go func() {
		f.consumer.Run(take, work)
		close(f.ended)
	}()
	t.Cleanup(func() {
		f.stopTaking()
		f.stopWorking()
		<-f.ended
		if t.Failed() {
			t.Log(f.log.String())
		}
	})
}

// watch returns what a watchdog asks: the real server, whatever stands before it.
func (b bench) watch(opts queue.Options) *queue.Store {
	return queue.NewStore(b.server.Client(), "", opts)
}

// stop stops taking and waits until Run has returned.
func (f *flow) stop(t testing.TB) {
	t.Helper()
	f.stopTaking()
	select {
	case <-f.ended:
	case <-time.After(patience):
		t.Fatal("Run has not returned")
	}
}

// sum adds up a metric's series that have the given label value, or all without one.
func (f *flow) sum(t testing.TB, name string, label ...string) float64 {
	t.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, series := range family.GetMetric() {
			if len(label) == 0 || hasLabel(series, label[0]) {
				total += series.GetCounter().GetValue() + series.GetGauge().GetValue() + float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// wantSum waits until a metric is what it is to be, and fails where it is more: a count follows what Redis has answered, so
// it may still be missing when the keys show the end.
func (f *flow) wantSum(t testing.TB, want float64, name string, label ...string) {
	t.Helper()
	eventually(t, name+" to be counted", func() bool { return f.sum(t, name, label...) >= want })
	if got := f.sum(t, name, label...); got != want {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// wantLogged waits for a log line with all the texts, and fails where there are more than n: a line may follow what it tells of.
func (f *flow) wantLogged(t testing.TB, n int, texts ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d log lines with %q", n, texts), func() bool { return f.log.count(texts...) >= n })
	if got := f.log.count(texts...); got != n {
		t.Errorf("%d log lines have %q, want %d", got, texts, n)
	}
}

func hasLabel(series *dto.Metric, value string) bool {
	for _, pair := range series.GetLabel() {
		if pair.GetValue() == value {
			return true
		}
	}
	return false
}

// logBook keeps log lines.
type logBook struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// count returns how many lines contain all of the texts.
func (l *logBook) count(texts ...string) int {
	n := 0
	for line := range bytes.Lines([]byte(l.String())) {
		found := 0
		for _, text := range texts {
			if bytes.Contains(line, []byte(text)) {
				found++
			}
		}
		if found == len(texts) {
			n++
		}
	}
	return n
}

var (
	done   = compat.Outcome{Verdict: compat.Done}
	failed = compat.Outcome{Verdict: compat.Failed, Error: "no"}
)

// wait is a handler's work: it ends with d or with ctx.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// text is a small job.
func text(uuid string) string { return fmt.Sprintf(`{"uuid":%q,"retry":0,"last_error":""}`, uuid) }

// empty reports that the topic has no text anywhere but in dead.
func (b bench) empty(t testing.TB) bool {
	t.Helper()
	return b.size(t, b.keys.Pool, b.keys.Ready, b.keys.Running) == 0
}

// size adds up the lengths of keys.
func (b bench) size(t testing.TB, keys ...string) int {
	t.Helper()
	total := 0
	for _, key := range keys {
		verb := "ZCARD"
		if key == b.keys.Ready || key == b.keys.Dead {
			verb = "LLEN"
		}
		n, _ := b.do(t, verb, key).(int64)
		total += int(n)
	}
	return total
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	testenv.Poll(t, patience, what, ok)
}
