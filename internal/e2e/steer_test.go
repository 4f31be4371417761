package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// reachesAll is how long a pause or its end may take to reach every sidecar: a second and a bit.
const reachesAll = 2 * time.Second

// pushReady puts jobs to the end of ready.
func (r *rig) pushReady(texts ...string) {
	r.t.Helper()
	if err := r.rdb.RPush(context.Background(), "delay:ready:"+topic, texts).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// wantPaused waits until the sidecar knows whether somebody has paused the topic.
func (p *instance) wantPaused(want float64) {
	p.t.Helper()
	eventually(p.t, reachesAll, func() error {
		if got := p.metric(fmt.Sprintf(`sidecar_paused{kind="manual",topic=%q}`, topic)); got != want {
			return fmt.Errorf("sidecar_paused is %v, want %v", got, want)
		}
		return nil
	})
}

func TestAPauseHoldsAllSidecarsAndAResumeLetsThemGoOnAtOnce(t *testing.T) {
	t.Parallel()
	const forHowLong = 6 * time.Second // on a busy machine, too, both sidecars must be seen to heed it
	r := newRig(t, 4)
	config := r.config("", "")
	sidecars := []*instance{r.start(config), r.start(config)}
	for _, p := range sidecars {
		p.wantReady(20 * time.Second)
	}
	r.push(`{"uuid":"in hand","sleep_ms":1000}`)
	r.wantStarted(1)
	if out := r.runVerb("pause", "-c", config, topic, "--reason", "a move"); !strings.Contains(out, topic+" is paused until it is resumed: sidecar resume "+topic) {
		t.Errorf("pause says %q", out)
	}
	for _, p := range sidecars {
		p.wantPaused(1)
	}
	r.push(`{"uuid":"meanwhile"}`)
	eventually(t, 5*time.Second, func() error {
		if r.runs("E")["in hand"] != 1 || r.depths().running != 0 {
			return fmt.Errorf("what was in hand has not ended: %+v", r.depths())
		}
		return nil
	})
	if d := r.depths(); d.pool != 1 || d.ready != 0 || r.runs("S")["meanwhile"] != 0 {
		t.Errorf("keys hold %+v, %v ran", d, r.runs("S"))
	}
	for _, p := range sidecars {
		if code, body, err := p.get("/readyz"); err != nil || code != 200 || !strings.Contains(body, `"kind":"manual"`) || !strings.Contains(body, `"reason":"a move"`) {
			t.Errorf("readyz: %d %s, %v", code, body, err)
		}
	}
	r.resumeTo(config, "meanwhile")
	if out := r.runVerb("pause", "-c", config, topic, "--for", forHowLong.String()); !strings.Contains(out, " is paused until 2") {
		t.Errorf("pause says %q", out)
	}
	sidecars[0].wantPaused(1)
	sidecars[1].wantPaused(1)
	r.push(`{"uuid":"after"}`)
	r.wantFirst("after", forHowLong+reachesAll)
	r.wantEmpty(5 * time.Second)
	r.wantOneRunEach(3)
}

// resumeTo resumes the topic from another process, and tells how long it took until a job that waited ran.
func (r *rig) resumeTo(config, uuid string) {
	r.t.Helper()
	if out := r.runVerb("resume", "-c", config, topic); !strings.Contains(out, topic+" goes on") {
		r.t.Errorf("resume says %q", out)
	}
	resumed := time.Now()
	r.wantFirst(uuid, reachesAll)
	r.t.Logf("%s ran %s after the resume", uuid, time.Since(resumed).Round(time.Millisecond))
}

// wantFirst waits until a job has started.
func (r *rig) wantFirst(uuid string, within time.Duration) {
	r.t.Helper()
	eventually(r.t, within, func() error {
		if r.runs("S")[uuid] == 0 {
			return fmt.Errorf("%s has not started", uuid)
		}
		return nil
	})
}

func TestDrainWaitsForWhatRunsAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(20 * time.Second)
	if out, err := exec.Command(binary, "pause", "-c", config, "order_timeuot").CombinedOutput(); err == nil || !strings.Contains(string(out), "order_timeuot") || !strings.Contains(string(out), topic) {
		t.Errorf("of an unknown topic pause says %v: %s", err, out)
	}
	r.push(`{"uuid":"runs","sleep_ms":6000}`)
	r.wantStarted(1)
	out, err := exec.Command(binary, "drain", "-c", config, topic, "--timeout", "200ms").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "sidecar resume") {
		t.Errorf("with a job that runs on, drain ends with %v and says %s", err, out)
	}
	text := r.runVerb("drain", "-c", config, topic, "--timeout", "30s")
	if r.runs("E")["runs"] != 1 || r.depths().running != 0 {
		t.Errorf("drain has ended while it runs: %+v", r.depths())
	}
	if !strings.Contains(text, "nothing of it runs any more; to go on: sidecar resume") {
		t.Errorf("drain says %s", text)
	}
	r.push(`{"uuid":"later"}`)
	p.wantPaused(1)
	r.resumeTo(config, "later")
}

// Old ACLs must not stop a sidecar that is upgraded.
func TestASidecarThatMayNotReadPausesGoesOnAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.asLeastUser()
	testenv.Do(t, r.redis, "ACL", "SETUSER", "sidecar", "resetkeys", "~delay:*", "~idem:*", "~sidecar:alive", "~sidecar:minutes:*")
	if err := r.rdb.HSet(context.Background(), "sidecar:paused", topic, `{"by":"ops"}`).Err(); err != nil {
		t.Fatal(err)
	}
	p := r.start(config)
	p.wantReady(20 * time.Second)
	for i := range 3 {
		r.push(fmt.Sprintf(`{"uuid":"a%d"}`, i))
		r.wantFirst(fmt.Sprint("a", i), 5*time.Second)
		<-time.After(time.Second) // in which it would look again
	}
	if n := p.count("cannot read which topics are paused"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// What was claimed ahead for a resident worker that is busy goes back where it was.
func TestAPauseCallsBackWhatWaitsForResidentWorkers(t *testing.T) {
	t.Parallel()
	const jobs = 1500 // of 3 ms: three or so are ahead of the worker, and the pause comes before the last
	r := newRig(t, 1)
	r.mode = "worker"
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(20 * time.Second)
	var texts, uuids []string
	for i := range jobs {
		uuids = append(uuids, fmt.Sprintf("w%04d", i))
		texts = append(texts, fmt.Sprintf(`{"uuid":%q,"sleep_ms":3}`, uuids[i]))
	}
	r.pushReady(texts...)
	eventually(t, 10*time.Second, func() error {
		if d := r.depths(); d.running < 2 || r.marked("E") < 20 {
			return fmt.Errorf("nothing is claimed ahead: %+v", d)
		}
		return nil
	})
	r.runVerb("pause", "-c", config, topic)
	p.wantPaused(1)
	eventually(t, 2*time.Second, func() error {
		if d := r.depths(); d.running != 0 {
			return fmt.Errorf("claims did not go back: %+v", d)
		}
		return nil
	})
	begun := r.runs("S")
	var want []string // those that have not, in their order; two that went to the worker together may have changed places
	for i, uuid := range uuids {
		if begun[uuid] == 0 {
			want = append(want, texts[i])
		}
	}
	left, err := r.rdb.LRange(context.Background(), "delay:ready:"+topic, 0, -1).Result()
	slices.Sort(left) // each call that gives claims back keeps their order, two calls may change places
	if err != nil || len(want) == 0 || !slices.Equal(left, want) {
		t.Fatalf("%d have begun, %v; ready holds %d: %v …", len(begun), err, len(left), left[:min(5, len(left))])
	}
	r.resumeTo(config, uuids[slices.Index(texts, left[0])])
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}
