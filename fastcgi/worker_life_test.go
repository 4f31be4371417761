package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// recycled waits until a worker has been recycled for that reason.
func (r *rig) recycled(reason string) {
	r.t.Helper()
	testenv.Poll(r.t, 5*time.Second, "a worker to leave: "+reason, func() bool {
		return r.recycles(reason) > 0
	})
}

func (r *rig) recycles(reason string) float64 {
	return r.sum("sidecar_workers_recycled_total", "reason", reason)
}

// workers counts those in a state.
func (r *rig) workers(state string) int { return int(r.sum("sidecar_workers", "state", state)) }

// sum adds up a counter's or gauge's series whose label has this value.
func (r *rig) sum(name, label, value string) float64 {
	r.t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	n := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == label && l.GetValue() == value {
					n += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return n
}

func TestWorkersAreRecycledForEveryReason(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		body string
		set  func(*fastcgi.TopicOptions)
		then func(*rig, *fastcgi.Topic)
	}{
		"max_jobs": {set: func(o *fastcgi.TopicOptions) { o.MaxJobs = 3 }},
		"max_memory": {
			body: `static $leak = []; $leak[] = str_repeat('x', 1 << 20);`,
			set:  func(o *fastcgi.TopicOptions) { o.MaxMemory = 8 << 20 },
		},
		"max_age": {set: func(o *fastcgi.TopicOptions) { o.MaxAge = 50 * time.Millisecond }},
		"idle":    {set: func(o *fastcgi.TopicOptions) { o.IdleTimeout = 50 * time.Millisecond }},
		"renew":   {then: func(_ *rig, topic *fastcgi.Topic) { topic.Renew() }},
		"code": {then: func(r *rig, _ *fastcgi.Topic) {
			callable(r.fpm, "renewed", `return 1;`)
		}},
		"drain":   {then: func(_ *rig, topic *fastcgi.Topic) { topic.Drain() }},
		"died":    {body: `posix_kill(getmypid(), 9);`},
		"timeout": {body: `usleep(5000000);`, set: timeout(50 * time.Millisecond)},
	} {
		t.Run(reason, func(t *testing.T) {
			f := testenv.StartFPM(t, testenv.FPMOptions{})
			r := newRig(t, f)
			set := []func(*fastcgi.TopicOptions){func(o *fastcgi.TopicOptions) {}}
			if tt.set != nil {
				set = append(set, tt.set)
			}
			topic := r.worker("renewed", tt.body, set...)
			r.run()
			r.opened(topic)
			for range 20 {
				handled(t.Context(), topic, job(t, ""))
			}
			if tt.then != nil {
				tt.then(r, topic)
			}
			r.recycled(reason)
			if reason != "drain" && tt.body == "" {
				wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
			}
		})
	}
}

func TestMinWorkersAreThereBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 3})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 3 })
	topic := r.worker("kept", "", func(o *fastcgi.TopicOptions) { o.Workers, o.MinWorkers, o.IdleTimeout = 3, 2, 50*time.Millisecond })
	r.run()
	testenv.Poll(t, 5*time.Second, "two workers", func() bool { return r.workers("idle") == 2 })
	handleAll(t.Context(), topic, 2000, numbered(t))
	testenv.Poll(t, 5*time.Second, "the third to leave", func() bool { return r.workers("idle") == 2 && fastcgi.SlotsUsed(r.pool) == 2 })
	topic.Drain()
	testenv.Poll(t, 5*time.Second, "all to leave", func() bool { return fastcgi.SlotsUsed(r.pool) == 0 })
}

// A handler that leaks runs on, with memory bounded by recycling.
func TestALeakIsBoundedByRecycling(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Opcache: true, Ini: []string{"memory_limit = 64M"}})
	r := newRig(t, f)
	topic := r.worker("leaks", `static $leak = []; $leak[] = str_repeat('x', 100 << 10);`, func(o *fastcgi.TopicOptions) {
		o.MaxMemory, o.MaxJobs = 32<<20, 1000000
	})
	r.run()
	got := handleAll(t.Context(), topic, 3000, numbered(t))
	if got[compat.Done] != 3000 {
		t.Errorf("%v", got)
	}
	if n := r.recycles("max_memory"); n < 5 {
		t.Errorf("%v workers were recycled", n)
	}
}

// Jobs that start after the switch run the new release, none mixes both, and none is lost.
func TestADeployRenewsWorkers(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Opcache: true, Children: 4, Ini: []string{"opcache.validate_timestamps = 0", "realpath_cache_ttl = 600"}})
	runs := filepath.Join(f.Shared(), "runs")
	for _, name := range []string{"r1", "r2"} {
		f.Script(name+"/boot.php", `<?php define('BOOTED', '`+name+`');`)
		f.Script(name+"/lib.php", `<?php return '`+name+`';`)
		f.Script(name+"/job.php", `<?php return function (array $job) {
			file_put_contents('`+runs+`', $job['n'] . ' ' . BOOTED . (include __DIR__ . '/lib.php') . "`+name+`\n", FILE_APPEND | LOCK_EX);
		};`)
	}
	current := filepath.Join(f.Dir, "current")
	link := func(to string) {
		t.Helper()
		switchLink(t, current, to)
	}
	link("r1")
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	topic := r.topic(current+"/job.php", resident, func(o *fastcgi.TopicOptions) { o.Bootstrap, o.Workers = current+"/boot.php", 4 })
	r.run()
	r.opened(topic)
	ctx, cancel := context.WithCancel(t.Context())
	var deploys sync.WaitGroup
	deploys.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				link(fmt.Sprintf("r%d", 1+n%2))
			case <-ctx.Done():
				return
			}
		}
	})
	const n = 20000
	got := handleAll(t.Context(), topic, n, numbered(t))
	cancel()
	deploys.Wait()
	if got[compat.Done] != n {
		t.Errorf("%v", got)
	}
	link("r1")
	link("r2")
	testenv.Poll(t, 10*time.Second, "the switch to be seen", func() bool { // at most 50 ms later
		wantOutcome(t, handled(t.Context(), topic, job(t, `{"n":-1}`)), compat.Done, "")
		text, _ := os.ReadFile(runs)
		return strings.HasSuffix(string(text), "-1 r2r2r2\n")
	})
	lines := ran(t, runs)
	seen := map[string]bool{}
	for line, times := range lines {
		number, code, _ := strings.Cut(line, " ")
		if code != "r1r1r1\n" && code != "r2r2r2\n" {
			t.Errorf("mixed: %q", line)
		}
		if number != "-1" && (seen[number] || times != 1) {
			t.Errorf("job %s ran twice", number)
		}
		seen[number] = true
	}
	if len(seen) != n+1 || r.recycles("code") < 4 {
		t.Errorf("%d jobs, %v renewals", len(seen), r.recycles("code"))
	}
}

// Two topics share a pool by their weights, and never take more children than there are slots.
func TestTopicsShareAPoolOfWorkersByWeight(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 4})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 4 })
	at := f.Shared()
	body := func(name string) string {
		return `file_put_contents('` + at + `/' . getmypid() . '.` + name + `', 'x'); usleep(2000);`
	}
	heavy := r.worker("heavy", body("heavy"), func(o *fastcgi.TopicOptions) { o.Topic, o.Weight, o.Workers = "heavy", 3, 4 })
	light := r.worker("light", body("light"), func(o *fastcgi.TopicOptions) { o.Topic, o.Weight, o.Workers = "light", 1, 4 })
	plain := r.handler("ok")
	r.run()
	r.opened(heavy)
	r.opened(light)
	r.opened(plain)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { handleAll(ctx, heavy, 1<<20, numbered(t)) })
	testenv.Poll(t, 10*time.Second, "the heavy topic to have all", func() bool { return fastcgi.TopicSlots(heavy) == 4 })
	wg.Go(func() { handleAll(ctx, light, 1<<20, numbered(t)) })
	testenv.Poll(t, 10*time.Second, "slots by weight", func() bool {
		if used := fastcgi.SlotsUsed(r.pool); used > 4 {
			t.Errorf("%d slots of 4", used)
		}
		return fastcgi.TopicSlots(heavy) == 3 && fastcgi.TopicSlots(light) == 1
	})
	// A topic of mode request gets its turn, too.
	turn, stop := context.WithTimeout(ctx, 10*time.Second)
	if plain.Acquire(turn, 1) != 1 {
		t.Error("mode request got no slot")
	}
	wantOutcome(t, handled(turn, plain, job(t, "")), compat.Done, "")
	plain.Release(1)
	stop()
	cancel()
	wg.Wait()
	// And idle workers give way to whoever has something to do.
	if plain.Acquire(t.Context(), 1) != 1 {
		t.Error("idle workers did not give way")
	}
	plain.Release(1)
}

// The window of permits follows what the runs take.
func TestPermitsAreWorkForTenMilliseconds(t *testing.T) {
	f := testenv.StartFPM(t, testenv.FPMOptions{})
	r := newRig(t, f)
	topic := r.worker("varies", `usleep($job['us'] ?? 0);`)
	r.run()
	r.opened(topic)
	if got := topic.Acquire(t.Context(), 1000); got != 2 {
		t.Errorf("%d permits before anything is known, want one a worker", got)
	}
	topic.Release(2)
	for range 300 {
		wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	}
	got := topic.Acquire(t.Context(), 1000)
	if got < 2*4 || got > 2*64 { // 128 where a run is as quick as it should be
		t.Errorf("%d permits for quick runs, want many and at most 128", got)
	}
	topic.Release(got)
	wantOutcome(t, handled(t.Context(), topic, job(t, `{"us":200000}`)), compat.Done, "")
	if got := topic.Acquire(t.Context(), 1000); got > 2*3 {
		t.Errorf("%d permits after a run of 200 ms", got)
	}
}

func TestWorkerMetricsAreWellFormed(t *testing.T) {
	reg := prometheus.NewRegistry()
	fastcgi.NewMetrics(reg, []string{"default"}, []string{"mail", "sms"})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for name, want := range map[string]int{"sidecar_workers": 8, "sidecar_workers_recycled_total": 32, "sidecar_worker_jobs": 2} {
		if n, err := testutil.GatherAndCount(reg, name); n != want || err != nil {
			t.Errorf("%s: %d series from the start, want %d, %v", name, n, want, err)
		}
	}
}
