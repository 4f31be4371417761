package fastcgi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/testenv"
)

// gathered returns the values of the rig's metrics that have no label but the pool, and state where there is one.
func (r *rig) gathered() map[string]float64 {
	r.t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				if label.GetName() == "state" {
					name += " " + label.GetValue()
				}
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestOccupancyIsWhatTheStatusPageSays(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 3, StatusListen: true})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children, o.Status = 3, f.StatusListen })
	topic := r.handler("sleep")
	r.run()
	r.opened(topic)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { topic.Run(ctx, sleeper(t, "busy", f.Shared(), 30)) })
	var got map[string]float64
	testenv.Poll(t, 10*time.Second, "one child of three to be busy", func() bool {
		got = r.gathered()
		return got["sidecar_fpm_children active"] == 1 && got["sidecar_fpm_children idle"] == 2
	})
	if got["sidecar_fpm_status_up"] != 1 || got["sidecar_fpm_accepted_connections_total"] < 1 {
		t.Errorf("got %v", got)
	}
	for _, name := range []string{"sidecar_fpm_max_children_reached_total", "sidecar_fpm_slow_requests_total"} {
		if n, found := got[name]; !found || n != 0 {
			t.Errorf("%s: got %v (there: %t), want 0", name, n, found)
		}
	}
	if problems, err := testutil.GatherAndLint(r.metrics); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	cancel()
	wg.Wait()
}

// Old children, idle ones and a queue would be taken for those of now.
func TestAPoolThatIsGoneHasNoStatusPage(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1, StatusListen: true})
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children, o.Status = 1, f.StatusListen })
	topic := r.handler("ok")
	r.run()
	r.opened(topic)
	testenv.Poll(t, 10*time.Second, "the status page to be read", func() bool {
		r.gathered()
		got := r.pool.Reading()
		return got.Page && got.Active+got.Idle > 0
	})
	f.Stop()
	wantVerdict(t, topic.Run(t.Context(), job(t, "")), compat.Unavailable, "")
	r.gathered()
	if got := r.pool.Reading(); got.Page || got.Active+got.Idle+got.Queue != 0 || got.Down == nil {
		t.Errorf("without PHP-FPM %+v", got)
	}
}

// 0 children would look like a pool that somebody emptied.
func TestAStatusPageThatDoesNotAnswerIsOnlyNotUp(t *testing.T) {
	t.Parallel()
	f := testenv.StartFPM(t, testenv.FPMOptions{Children: 1}) // without a status page
	r := newRig(t, f, func(o *fastcgi.PoolOptions) { o.Children, o.Status = 1, "/status" })
	topic := r.handler("ok")
	r.run()
	shut := r.gathered() // nobody has seen FPM yet
	r.opened(topic)
	for when, got := range map[string]map[string]float64{"shut": shut, "open": r.gathered()} {
		if up, found := got["sidecar_fpm_status_up"]; !found || up != 0 {
			t.Errorf("%s: up is %v (there: %t), want 0", when, up, found)
		}
		if n, found := got["sidecar_fpm_children idle"]; found {
			t.Errorf("%s: %v idle children of a page that is not there", when, n)
		}
	}
}

func TestAPoolWithoutStatusHasNoOccupancy(t *testing.T) {
	t.Parallel()
	r := newRig(t, testenv.StartFPM(t, testenv.FPMOptions{Children: 1}))
	if up, found := r.gathered()["sidecar_fpm_status_up"]; found {
		t.Errorf("up is %v", up)
	}
}
