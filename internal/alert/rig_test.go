package alert_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/alert"
	"sidecar/queue"
)

// receiver is a service that takes messages.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex // guards what follows
	bodies []string
	asked  []*http.Request
	answer func(w http.ResponseWriter)
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.answers(func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok"}`) })
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.bodies, r.asked = append(r.bodies, string(body)), append(r.asked, req)
		answer := r.answer
		r.mu.Unlock()
		answer(w)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(f func(http.ResponseWriter)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// took returns what has arrived since the last call.
func (r *receiver) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies
	r.bodies = nil
	return bodies
}

// world is Redis, its time and the sidecars on it.
type world struct {
	t        *testing.T
	now      time.Time
	ledger   alert.Ledger
	opts     alert.Options
	log      bytes.Buffer
	registry *prometheus.Registry
	patience time.Duration // with receivers
}

// clock is read by couriers beside the test.
func (w *world) clock() time.Time { return w.now }

// newWorld has one target, to which receiver listens as kind, and the rules.
func newWorld(t *testing.T, r *receiver, kind string, rules ...alert.Rule) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), registry: prometheus.NewRegistry(), patience: 30 * time.Second}
	w.ledger = alert.NewMemory(w.clock)
	w.opts = alert.DefaultOptions()
	target := alert.DefaultTarget()
	target.Name, target.Kind, target.URL = "ops", kind, queue.Secret(r.URL+"/robot/send?access_token=t0ken-of-the-group")
	w.opts.Name, w.opts.Zone, w.opts.Targets, w.opts.Rules = "shop", time.UTC, []alert.Target{target}, rules
	return w
}

func (w *world) sidecar(name string) *sidecar {
	reg := prometheus.NewRegistry()
	log := slog.New(slog.NewTextHandler(io.MultiWriter(w.t.Output(), &w.log), nil))
	s := &sidecar{world: w, registry: reg, topics: map[string]alert.Topic{"orders": {Known: true, Pool: "default"}}}
	s.pools = map[string]alert.Pool{"default": {}}
	s.engine = alert.NewEngineAt(name, &http.Client{Timeout: w.patience}, alert.NewMetrics(reg), log, w.clock)
	return s
}

// sidecar is one of them, and what it sees.
type sidecar struct {
	*world
	engine   *alert.Engine
	registry *prometheus.Registry
	redis    alert.Redis
	topics   map[string]alert.Topic
	pools    map[string]alert.Pool
}

// look has the sidecar look once, and waits for its messages.
func (s *sidecar) look() {
	s.t.Helper()
	topics := maps.Clone(s.topics)
	s.engine.Tick(s.t.Context(), s.opts, s.ledger, alert.Snapshot{At: s.now, Redis: s.redis, Topics: topics, Pools: s.pools})
	s.engine.Wait()
}

// pass lets time go by with a look every ten seconds of each of the sidecars.
func (w *world) pass(d time.Duration, all ...*sidecar) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(10 * time.Second)
		for _, s := range all {
			s.look()
		}
	}
}

func (s *sidecar) backlog(n int64) {
	t := s.topics["orders"]
	t.Backlog = n
	s.topics["orders"] = t
}

// news is what a generic message says.
type told struct {
	State, Rule, Subject string
}

// read returns what generic messages tell, one line each alarm.
func read(t *testing.T, bodies []string) (all [][]told) {
	t.Helper()
	for _, body := range bodies {
		var m struct{ Alarms []told }
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		all = append(all, m.Alarms)
	}
	return all
}

// wantTold fails unless the receiver got these messages, each as "state rule subject, …".
func wantTold(t *testing.T, r *receiver, want ...string) {
	t.Helper()
	var got []string
	for _, alarms := range read(t, r.took()) {
		var words []string
		for _, a := range alarms {
			words = append(words, strings.TrimSpace(a.State+" "+a.Rule+" "+a.Subject))
		}
		got = append(got, strings.Join(words, ", "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n got %q\nwant %q", got, want)
	}
}

func rule(name string, set func(*alert.Rule)) alert.Rule {
	r := alert.DefaultRule()
	r.Name = name
	set(&r)
	return r
}

func backlogRule() alert.Rule {
	return rule("backlog", func(r *alert.Rule) { r.Backlog = alert.Over(1000) })
}
