package e2e

import (
	"os/exec"
	"testing"
	"time"
)

func TestStartingBeforeRedisWaitsForIt(t *testing.T) {
	t.Parallel()
	r := newLastingRig(t, 2)
	r.produce(20, 0, 0, 0)
	r.redis.Stop()
	p := r.start(r.config("", ""))
	p.wantNotReady("redis", 10*time.Second)
	r.redis.Start()
	p.wantReady(15 * time.Second)
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(20)
	if n := p.count("msg=waiting for=redis"); n == 0 || n > 3 {
		t.Errorf("%d log lines about the wait, want one per kind of error", n)
	}
}

func TestAWrongPasswordIsNeitherPrintedNorFatal(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.config("", "")
	r.rdb.ConfigSet(t.Context(), "requirepass", "right")
	cmd := exec.Command(binary, "status", "-c", config)
	cmd.Env = append(cmd.Environ(), "SIDECAR_REDIS_PASSWORD=wrong-secret")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("status with a wrong password exits 0")
	}
	if got := string(out); containsSecret(got) {
		t.Errorf("the password is printed:\n%s", got)
	}
}

func TestFewDescriptorsCostWaitingNotTries(t *testing.T) {
	t.Parallel()
	const jobs = 300
	r := newRig(t, 60)
	r.produce(jobs, 0, 0, 20)
	p := r.startLimited(r.config("", ""), 48)
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
	_ = p
}

func TestNothingLeaksOverManyJobs(t *testing.T) { eachMode(t, leakNothing) }

func leakNothing(t *testing.T, mode string) {
	t.Helper()
	jobs := scaledTo(3000, 500)
	r := newRig(t, 4)
	r.mode = mode
	p := r.start(r.config("", `retry = ["50ms"]`))
	p.wantReady(10 * time.Second)
	round := func() (goroutines, descriptors float64) {
		r.produce(jobs, 0, 10, 0)
		r.wantEmpty(time.Minute)
		return p.metric("go_goroutines"), p.metric("process_open_fds")
	}
	// A goroutine that has run a job stays for the next one, so there are as many as jobs were ever in hand: that ends, a leak does not.
	const rounds = 8
	g, f := round()
	for range rounds {
		g0, f0 := g, f
		if g, f = round(); g <= g0+5 && f <= f0+5 {
			return
		}
	}
	t.Errorf("%v goroutines and %v descriptors, more in each of %d rounds of %d jobs", g, f, rounds, jobs)
}
