package e2e

import (
	"fmt"
	"testing"
	"time"
)

func TestWithFPMDownNothingIsClaimedOrCounted(t *testing.T) { eachMode(t, withFPMDown) }

func withFPMDown(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const jobs = 200
	r := newRig(t, 4)
	r.mode = mode
	r.fpm.Stop()
	p := r.start(r.config("", ""))
	r.produce(jobs, 0, 0, 0)

	p.wantNotReady("fpm pool", 10*time.Second)
	eventually(t, 10*time.Second, func() error {
		if d := r.depths(); d.ready != jobs {
			return fmt.Errorf("keys hold %+v, want all %d in ready", d, jobs)
		}
		return nil
	})
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if d := r.depths(); d.running != 0 || d.ready != jobs {
			t.Fatalf("keys hold %+v while FPM is down, want all %d in ready", d, jobs)
		}
	}
	r.fpm.Start()
	r.wantEmpty(30 * time.Second)
	p.wantReady(5 * time.Second)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}

func TestFPMStoppedUnderLoadLosesAndCountsOnlyWhatItCut(t *testing.T) {
	t.Parallel()
	const jobs = 400
	r := newRig(t, 4)
	r.produce(jobs, 0, 0, 20)
	p := r.start(r.config("", `retry = ["100ms"]`))
	r.wantStarted(40)
	r.fpm.Stop()
	p.wantNotReady("fpm pool", 10*time.Second)
	r.fpm.Start()
	r.wantEmpty(time.Minute)
	if ended := r.runs("E"); len(ended) != jobs {
		t.Errorf("%d of %d jobs ended", len(ended), jobs)
	}
}

func TestRedisRestartedUnderLoadLosesNothing(t *testing.T) { eachMode(t, redisRestarted) }

func redisRestarted(t *testing.T, mode string) {
	t.Helper()
	jobs := scaledTo(2000, 600)
	r := newLastingRig(t, 4)
	r.mode = mode
	p := r.start(r.config("", `lease = "3s"`))
	r.produce(jobs, 500, 0, 4)
	for i := range 3 {
		r.pushSleepers(fmt.Sprint("round", i), 60, 4) // or a slow restart would leave none for the next
		jobs += 60
		r.wantStarted(r.marked("S") + 50)
		r.redis.Restart()
	}
	r.wantEmpty(time.Minute)
	p.wantReady(10 * time.Second)
	if ended := r.runs("E"); len(ended) != jobs {
		t.Errorf("%d of %d jobs ended", len(ended), jobs)
	}
}

// wantStarted waits until that many jobs have started.
func (r *rig) wantStarted(n int) {
	r.t.Helper()
	eventually(r.t, 30*time.Second, func() error {
		if got := r.marked("S"); got < n {
			return fmt.Errorf("%d jobs started, want %d", got, n)
		}
		return nil
	})
}

func (r *rig) wantOneRunEach(jobs int) {
	r.t.Helper()
	ended := r.runs("E")
	if len(ended) != jobs {
		r.t.Errorf("%d of %d jobs ended", len(ended), jobs)
	}
	for uuid, n := range ended {
		if n != 1 {
			r.t.Errorf("%s ended %d times", uuid, n)
		}
	}
}
