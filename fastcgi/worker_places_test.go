package fastcgi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// Where FPM keeps PHP from much, workers serve all the same, and leave when FPM reloads.
func TestWorkersLiveWithWhatFPMForbids(t *testing.T) {
	for name, o := range map[string]testenv.FPMOptions{
		"no /proc":         {Ini: []string{"disable_functions = readlink,scandir"}},
		"no logging":       {Ini: []string{"fastcgi.logging = 0"}},
		"output buffering": {OutputBuffering: 4096},
		"on demand":        {PM: "ondemand"},
		"dynamic":          {PM: "dynamic"},
	} {
		t.Run(name, func(t *testing.T) {
			o.ProcessControlTimeout = 10 * time.Second
			f := testenv.StartFPM(t, o)
			r := newRig(t, f)
			topic := r.worker("quick", "")
			r.run()
			r.opened(topic)
			got := handleAll(t.Context(), topic, 500, numbered(t))
			if got[compat.Done] != 500 {
				t.Errorf("%v", got)
			}
			began := time.Now()
			f.Reload()
			testenv.Poll(t, 5*time.Second, "the reloaded FPM to serve", func() bool {
				return handled(t.Context(), topic, job(t, `{"n":1}`)).Verdict == compat.Done && r.recycles("fpm_stop") > 0
			})
			if took := time.Since(began); took > 8*time.Second { // less than a worker would have that did not look
				t.Errorf("the reload took %s", took)
			}
		})
	}
}

// request_terminate_timeout counts from the worker's start, so that it kills busy and idle ones: a crash, and no more.
func TestAWorkerThatFPMTerminatesIsReplaced(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{RequestTerminateTimeout: time.Second})
	r := newRig(t, f)
	topic := r.worker("quick", "")
	r.run()
	r.opened(topic)
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
	r.recycled("died")
	wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
}

// Renewal under load costs no job.
func TestRenewalUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Opcache: true})
	r := newRig(t, f)
	runs := filepath.Join(f.Shared(), "runs")
	topic := r.worker("count", appends(runs))
	r.run()
	r.opened(topic)
	ctx, cancel := context.WithCancel(t.Context())
	var renewals sync.WaitGroup
	renewals.Go(func() {
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			topic.Renew()
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	got := handleAll(t.Context(), topic, 5000, numbered(t))
	cancel()
	renewals.Wait()
	if got[compat.Done] != 5000 || r.recycles("renew") < 3 {
		t.Errorf("%v, %v renewals", got, r.recycles("renew"))
	}
	for line, times := range ran(t, runs) {
		if times != 1 {
			t.Errorf("job %q ran %d times", line, times)
		}
	}
}

// Two topics with one child between them take turns, and neither starves.
func TestTopicsTakeTurnsOnOneChild(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children = 1 })
	a, b := r.worker("a", "", func(o *fastcgi.TopicOptions) { o.MinWorkers = 1 }), r.worker("b", "")
	r.run()
	r.opened(a)
	r.opened(b)
	for n := range 3 {
		for name, topic := range map[string]*fastcgi.Topic{"a": a, "b": b} {
			got := handleAll(t.Context(), topic, 50, numbered(t))
			if got[compat.Done] != 50 {
				t.Errorf("round %d, %s: %v", n, name, got)
			}
		}
	}
	var wg sync.WaitGroup
	for _, topic := range []*fastcgi.Topic{a, b} { // and at once
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
			defer cancel()
			if got := handleAll(ctx, topic, 1<<20, numbered(t)); got[compat.Done] < 100 {
				t.Errorf("%v", got)
			}
		})
	}
	wg.Wait()
}

// A chroot hides the sidecar's own paths; its sockets lie inside, where the pool sees them.
func TestWorkersInAChroot(t *testing.T) {
	root := newJail(t)
	f := testenv.StartFPM(t, testenv.FPMOptions{
		Chroot: root,
		Ini:    []string{"disable_functions = date_default_timezone_get"}, // Debian's reads files that this chroot does not have
	})
	if err := os.WriteFile(filepath.Join(root, "job.php"), []byte(`<?php return function ($job) { if (file_exists('/etc')) { throw new Exception('out'); } };`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{"", "tcp://127.0.0.1:0"} {
		t.Run(fmt.Sprintf("%q", socket), func(t *testing.T) {
			r := newRig(t, f, func(o *fastcgi.PoolOptions) {
				o.Chroot, o.BridgeDir, o.WorkerSocket = root, filepath.Join(root, "sidecar"), socket
			})
			topic := r.topic("/job.php", resident)
			r.run()
			r.opened(topic)
			wantOutcome(t, handled(t.Context(), topic, job(t, "")), compat.Done, "")
		})
	}
}
