package fastcgi_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// rig is one pool on a php-fpm of its own, with everything running that a sidecar has running.
type rig struct {
	t    testing.TB
	fpm  *testenv.FPM
	pool *fastcgi.Pool
	log  *logged

	metrics *prometheus.Registry
}

// logged keeps what is logged, for tests that care.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newRig makes a pool on f; set may change its options.
func newRig(t testing.TB, f *testenv.FPM, set ...func(*fastcgi.PoolOptions)) *rig {
	t.Helper()
	o := fastcgi.DefaultPoolOptions()
	o.Name, o.Listen, o.Children = "default", f.Listen, 2
	o.BridgeDir = filepath.Join(f.Dir, "sidecar")
	for _, change := range set {
		change(&o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	reg := prometheus.NewRegistry()
	m := fastcgi.NewMetrics(reg, []string{o.Name}, []string{"mail"})
	return &rig{t: t, fpm: f, log: log, metrics: reg, pool: fastcgi.NewPool(o, slog.New(slog.NewTextHandler(log, nil)), m)}
}

// run prepares the pool and runs it until the test ends.
func (r *rig) run() *rig {
	r.t.Helper()
	if err := r.pool.Prepare(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { r.pool.Run(ctx) })
	r.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return r
}

// topic adds a topic that runs script.
func (r *rig) topic(script string, set ...func(*fastcgi.TopicOptions)) *fastcgi.Topic {
	r.t.Helper()
	o := fastcgi.DefaultTopicOptions()
	o.Topic, o.Script, o.Workers = "mail", script, 2
	o.Timeout = 20 * time.Second
	for _, change := range set {
		change(&o)
	}
	if err := o.Validate(); err != nil {
		r.t.Fatal(err)
	}
	return r.pool.NewTopic(o)
}

// handler adds a topic that runs testdata/handlers/<name>.php.
func (r *rig) handler(name string, set ...func(*fastcgi.TopicOptions)) *fastcgi.Topic {
	r.t.Helper()
	return r.topic(r.fpm.Handler(name), set...)
}

// opened waits until the topic's jobs may start, and leaves all slots free.
func (r *rig) opened(topic *fastcgi.Topic) {
	r.t.Helper()
	testenv.Poll(r.t, 10*time.Second, "the gates to open", func() bool {
		return r.pool.Health() == nil && topic.Health() == nil
	})
}

func raw(o *fastcgi.TopicOptions) {
	o.Bridge = false
	o.SuccessBody = regexp.MustCompile(`success|"ok":true`)
}

func timeout(d time.Duration) func(*fastcgi.TopicOptions) {
	return func(o *fastcgi.TopicOptions) { o.Timeout = d }
}

// job parses text, or makes the usual job where text is "".
func job(t testing.TB, text string) compat.Job {
	t.Helper()
	if text == "" {
		text = `{"uuid":"a1","topic":"mail","payload":{"to":"someone"},"retry":2,"last_error":""}`
	}
	j, err := compat.ParseJob(text)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// wantVerdict checks a result's verdict, and that its error says what it must.
func wantVerdict(t testing.TB, got fastcgi.Result, want compat.Verdict, says string) {
	t.Helper()
	if got.Outcome.Verdict != want || !strings.Contains(got.Outcome.Error, says) {
		t.Errorf("got %s (%q), want %s (…%q…)\noutput: %.300q\nstderr: %.300q",
			got.Outcome.Verdict, got.Outcome.Error, want, says, got.Output, got.Stderr)
	}
}

// openFiles counts this process's descriptors.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// wantNoLeak waits until goroutines and descriptors are back to what they were.
func wantNoLeak(t testing.TB, goroutines, files int) {
	t.Helper()
	testenv.Poll(t, 5*time.Second, "goroutines and descriptors to be given back", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
	})
}

// distinctLines returns how often each line is in the file.
func distinctLines(t testing.TB, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(text)) {
		lines[line]++
	}
	return lines
}
