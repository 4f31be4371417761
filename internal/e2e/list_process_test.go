package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A job that was popped is not only in memory: it is in a key of ours until it is settled, and runs again.
func TestC58AJobWhoseSidecarIsKilledIsInRunningAndRunsAgain(t *testing.T) {
	eachMode(t, killedInTheMiddle)
}

func killedInTheMiddle(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	r := newListRig(t, 2)
	r.mode = mode
	config := r.smsConfig(`retry = ["50ms"]`)
	text := smsJob("j", `"wait":"go"`)
	r.lpush(smsKey, text)
	p := r.start(config)
	r.wantRuns("S", 1, 20*time.Second)
	p.kill()
	entries, err := r.rdb.ZRange(context.Background(), "sidecar:running:"+smsKey, 0, -1).Result()
	if err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0], "\n"+text) {
		t.Fatalf("running holds %q (%v), want the job's text under the claim's id", entries, err)
	}
	if d := r.listDepths(); d != (listDepths{running: 1}) {
		t.Errorf("keys hold %+v, want the job in running alone", d)
	}
	r.start(config)
	r.wantRuns("S", 2, 30*time.Second) // the first one's script may still wait: nobody has told FPM
	r.write("go", "")
	r.wantDepths(listDepths{}, 20*time.Second)
	for i, got := range r.ran("texts.log") {
		if !strings.HasPrefix(got, text[:len(text)-1]) { // crashes may be added last
			t.Errorf("run %d was of %s", i+1, got)
		}
	}
	if got := r.order("E"); len(got) == 0 {
		t.Error("no run has ended")
	}
}

// A job that arrives in the very moment in which the sidecar stops taking, or changes to another configuration, is
// either run or still in its list: nothing waits in a call that could take it and not hear the reply.
func TestC56AJobThatArrivesAsTheSidecarStopsIsRunOrWaits(t *testing.T) {
	t.Parallel()
	rounds, waited := scaled(10), 0
	r := newListRig(t, 2)
	config := r.smsConfig("")
	for round := 1; round <= rounds; round++ {
		p := r.start(config)
		p.wantReady(20 * time.Second)
		r.pushAround(round, func() { p.signal(syscall.SIGTERM) })
		p.wantExit(0, 20*time.Second)
		ended := len(r.order("E"))
		d := r.listDepths()
		waited += int(d.list)
		if d.list+int64(ended) != int64(round) || d.pool+d.running+d.dead != 0 {
			t.Fatalf("round %d: %d have ended, keys hold %+v, want every job done or in the list", round, ended, d)
		}
	}
	t.Logf("%d rounds: %d jobs came too late and waited for the next start", rounds, waited)
	r.start(config)
	r.wantRuns("E", rounds, 20*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
}

func TestC56AJobThatArrivesAtAReloadIsRunOnce(t *testing.T) {
	t.Parallel()
	rounds := scaled(30)
	r := newListRig(t, 2)
	p := r.start(r.smsConfig(""))
	p.wantReady(20 * time.Second)
	for round := 1; round <= rounds; round++ {
		r.smsConfig(fmt.Sprintf("max_crashes = %d", 5+round%2))
		r.pushAround(round, func() { p.signal(syscall.SIGHUP) })
		eventually(t, 20*time.Second, func() error {
			if got := p.count("msg=reloaded"); got != round {
				return fmt.Errorf("%d reloads in the log, want %d", got, round)
			}
			return nil
		})
		r.wantRuns("E", round, 20*time.Second)
	}
	r.wantDepths(listDepths{}, 10*time.Second)
	if started := len(r.order("S")); started != rounds {
		t.Errorf("%d runs of %d jobs", started, rounds)
	}
}

// pushAround pushes one job at most 5 ms before or after strike.
func (r *rig) pushAround(round int, strike func()) {
	r.t.Helper()
	pushed := make(chan error, 1)
	wait := rand.N(10 * time.Millisecond)
	go func() {
		<-time.After(wait)
		pushed <- r.rdb.LPush(context.Background(), smsKey, smsJob(fmt.Sprintf("j-%d", round), "")).Err()
	}()
	<-time.After(5 * time.Millisecond)
	strike()
	if err := <-pushed; err != nil {
		r.t.Fatal(err)
	}
}

// Sixty lists, of which one has jobs: no list holds a connection while it waits, so that settling never waits for one.
func TestC121SixtyListsOfWhichOneIsBusy(t *testing.T) { eachMode(t, sixtyLists) }

func sixtyLists(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const lists = 60
	jobs := scaled(100)
	r := newListRig(t, 4)
	r.mode = mode
	var tables []string
	for n := range lists {
		tables = append(tables, r.list(fmt.Sprintf("list_%d", n), fmt.Sprintf("queue:prod:type_%d", n), ""))
	}
	p := r.start(r.listConfig(append(tables, r.list("send_sms", smsKey, ""))...))
	p.wantReady(30 * time.Second)
	r.lpush(smsKey, smsJobs("j", jobs, `"sleep_ms":2`)...)
	r.wantRuns("E", jobs, time.Minute)
	r.wantDepths(listDepths{}, 10*time.Second)
	if got := len(r.order("S")); got != jobs {
		t.Errorf("%d runs of %d jobs", got, jobs)
	}
	clients, err := r.rdb.ClientList(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(clients, "\n"); n > lists {
		t.Errorf("%d connections for %d lists: each holds one", n, lists)
	}
	p.stopped()
	for _, line := range p.lines() {
		if strings.Contains(line, "pool timeout") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") && !strings.Contains(line, "msg=configuration") {
			t.Errorf("the log says %s", line)
		}
	}
}
