package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachMode runs a test for both ways to PHP: what is promised does not depend on it.
func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	for _, mode := range []string{"request", "worker"} {
		t.Run(mode, func(t *testing.T) { test(t, mode) })
	}
}

// scale multiplies the jobs of the tests that break things under load: 20 makes them as long as their issue
// asks, which takes minutes.
func scale() int {
	if n, err := strconv.Atoi(os.Getenv("SIDECAR_E2E_SCALE")); err == nil && n > 0 {
		return n
	}
	return 1
}

func scaled(jobs int) int { return jobs * scale() }

// scaledTo is scaled, up to what the test has at full length.
func scaledTo(most, jobs int) int { return min(most, scaled(jobs)) }

// deployEvery is a second at full length.
func deployEvery() time.Duration {
	return min(time.Second, time.Duration(150+50*scale())*time.Millisecond)
}

func TestKilledWorkersAndRestartsOfFPMLoseNothing(t *testing.T) {
	jobs := scaled(1200)
	r := newRig(t, 4)
	r.mode, r.script = "worker", "troubled.php"
	r.copyScript(r.script)
	p := r.start(r.config("", "lease = \"5s\"\nretry = [\"100ms\"]\nmax_crashes = 50\n"))
	p.wantReady(10 * time.Second)
	r.produce(jobs, 0, 0, 0)
	for kind := 0; r.marked("E") < jobs; kind++ {
		<-time.After(rand.N(200 * time.Millisecond))
		switch kind % 8 {
		case 3:
			r.fpm.Reload()
		case 7:
			r.fpm.Stop()
			r.fpm.Start()
		default:
			if children := r.fpm.Children(); len(children) > 0 {
				_ = syscall.Kill(children[rand.N(len(children))], syscall.SIGKILL) // a child of the FPM that we started
			}
		}
	}
	r.wantEmpty(time.Minute)
	if ended := r.runs("E"); len(ended) != jobs {
		t.Errorf("%d of %d jobs ended", len(ended), jobs)
	}
	twice := 0
	for _, n := range r.runs("E") {
		twice += n - 1
	}
	var crashed float64
	eventually(t, 5*time.Second, func() error { // the last one may still be on its way to the metrics
		crashed = p.metric(fmt.Sprintf(`sidecar_outcomes_total{outcome="crashed",topic=%q}`, topic))
		if crashed == 0 || float64(twice) > crashed {
			return fmt.Errorf("%d jobs ended more than once, and %v crashes are counted, want some, and one for each", twice, crashed)
		}
		return nil
	})
	t.Logf("%d jobs: none lost, %v crashed, %d ended twice", jobs, crashed, twice)
}

func TestAPoisonedJobEndsInDeadAndHarmsNoOther(t *testing.T) {
	jobs := scaled(500)
	const maxCrashes = 2
	r := newRig(t, 4)
	r.mode, r.script = "worker", "troubled.php"
	r.copyScript(r.script)
	p := r.start(r.config("", fmt.Sprintf("retry = [\"50ms\"]\nmax_crashes = %d\n", maxCrashes)))
	p.wantReady(10 * time.Second)
	r.push(`{"uuid":"poison","poison":true,"retry":0}`)
	r.produce(jobs, 500, 0, 0)

	eventually(t, time.Minute, func() error {
		if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != 1 {
			return fmt.Errorf("keys hold %+v, want the poisoned job in dead alone", d)
		}
		return nil
	})
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
	records, err := r.rdb.LRange(context.Background(), "delay:dead:"+topic, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Job struct {
			UUID    string
			Crashes int
			Retry   int
		}
		Error, Trace string
	}
	if err := json.Unmarshal([]byte(records[0]), &record); err != nil {
		t.Fatal(err)
	}
	if record.Job.UUID != "poison" || record.Job.Crashes != maxCrashes+1 || record.Job.Retry != 0 || !strings.Contains(record.Trace, "poisoned by poison") {
		t.Errorf("dead holds %s\nwant the poisoned job with %d crashes, no tries and its stderr", records[0], maxCrashes+1)
	}
}

func TestALeakIsBoundedByRecycling(t *testing.T) {
	jobs := scaled(1500)
	const most = 32 << 10 // KB
	r := newRig(t, 2)
	r.mode, r.script = "worker", "leaking.php"
	r.copyScript(r.script)
	boot := r.write("cache.php", "<?php\nclass Cache { public static $kept = []; }\n")
	p := r.start(r.config("", fmt.Sprintf("bootstrap = %q\nmax_memory = \"32MB\"\n", boot)))
	p.wantReady(10 * time.Second)
	r.produce(jobs, 0, 0, 0)
	r.wantEmpty(5 * time.Minute)
	r.wantOneRunEach(jobs)
	peak := 0
	for text := range r.runs("M") {
		kb, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		peak = max(peak, kb)
	}
	if peak < most/2 || peak > most+(4<<10) { // PHP takes memory by 2 MB
		t.Errorf("a process held %d KB at most, want about %d", peak, most)
	}
	r.wantNoRetries()
}

// runVerb runs a verb of the sidecar that has to succeed.
func (r *rig) runVerb(args ...string) string {
	r.t.Helper()
	out, err := exec.Command(binary, args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("sidecar %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestTryInModeWorkerRunsOneJobAndLeavesNoWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1) // a worker that stayed would hold the only child
	r.mode = "worker"
	config := r.config("", "")
	out := r.runVerb("try", "-c", config, topic, `{"uuid":"once"}`)
	if !strings.Contains(out, "verdict: done") {
		t.Errorf("try says:\n%s\nwant the verdict", out)
	}
	r.wantOneRunEach(1)
	p := r.start(config)
	p.wantReady(10 * time.Second)
	r.produce(100, 0, 0, 0)
	r.wantEmpty(20 * time.Second)
}

func TestReloadsHandOverResidentWorkersWithoutLosingAJob(t *testing.T) {
	jobs := scaledTo(3000, 1500)
	r := newRig(t, 4)
	r.mode = "worker"
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(10 * time.Second)
	r.produce(jobs, 0, 0, 5)
	base, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r.pushSleepers(fmt.Sprint("round", i), 60, 5) // or a slow reload would leave none for the next
		jobs += 60
		r.wantStarted(r.marked("S") + 50)
		r.write("sidecar.toml", string(base)+fmt.Sprintf("workers = %d\n", 3+i%2))
		p.reload(i + 1)
		if used := p.metric(`sidecar_fpm_slots_used{pool="default"}`); used > 4 {
			t.Errorf("%v slots are used, want no more than the 4 there are", used)
		}
	}
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}
