package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tap stands between the old worker and Redis and keeps which jobs the worker was given: one that is killed while a
// job is on its way to it leaves no other trace of that.
type tap struct {
	addr string

	mu    sync.Mutex
	given [][]byte // guarded by mu: what Redis answered, connection by connection
}

func newTap(t testing.TB, upstream string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.given = append(p.given, nil)
			p.mu.Unlock()
			wg.Go(func() { p.serve(n, client, upstream) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait() // the workers have been killed: their cleanup was asked for later
	})
	return p
}

// serve passes on both ways until one side ends.
func (p *tap) serve(n int, client net.Conn, upstream string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() { // ends with the worker
		_, _ = io.Copy(server, client)
		// Redis hears that, answers no more, and closes: what it had answered by then still comes, and counts.
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	buf := make([]byte, 64<<10)
	for {
		size, err := server.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.given[n] = append(p.given[n], buf[:size]...)
		p.mu.Unlock()
		_, _ = client.Write(buf[:size]) // a worker that is gone was given it all the same
	}
}

var jobID = regexp.MustCompile(`"job_id":"([^"]+)"`)

// jobs returns the job_ids that the worker was given, and how often.
func (p *tap) jobs() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make(map[string]int)
	for _, bytes := range p.given {
		for _, m := range jobID.FindAllSubmatch(bytes, -1) {
			ids[string(m[1])]++
		}
	}
	return ids
}

// The old worker and the sidecar on one list, both killed again and again: whatever is lost in the end was in the hands
// of the old one when that was killed.
func TestBesideTheOldListWorkerOurHalfLosesNothingWhoeverIsKilled(t *testing.T) {
	eachMode(t, besideTheOldListWorker)
}

func besideTheOldListWorker(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	jobs := scaled(500)
	r := newListRig(t, 4)
	r.mode, r.script = mode, "killed.php"
	r.write(r.script, `<?php
$run = require __DIR__ . '/list.php';
return function (array $job, string $text) use ($run): void {
    $job['payload'] = ['sleep_ms' => 8, 'fail_once' => crc32($job['job_id']) % 20 === 0];
    $run($job, $text);
};`)
	config := r.smsConfig("max_crashes = 1000\nretry = [\"50ms\"]")
	r.produceList(jobs)
	ours, old := r.start(config), newTap(t, r.redis.Addr)
	startOld := func() *oldWorker { return r.startOldWorker(old.addr, "--handler=usleep:5000") }
	theirs := startOld()
	ourKills, oldKills, before := 0, 0, 0
	for r.listDepths().list > 0 {
		<-time.After(rand.N(300 * time.Millisecond))
		switch started := len(r.order("S")); {
		case rand.N(2) == 0:
			theirs.kill()
			theirs = startOld()
			oldKills++
		case started > before || rand.N(4) == 0: // mostly once it has run something: a busy machine starts it more slowly than that
			ours.kill()
			before = len(r.order("S"))
			ours = r.start(config)
			ourKills++
		}
	}
	var lost []string
	eventually(t, time.Minute, func() error { // what was in hand comes back and is done
		lost = nil
		ended := r.runs("E")
		for id := range legacyRuns(t, r.oldLogs()) {
			ended[id]++
		}
		given := old.jobs()
		ofOld := 0
		for i := range jobs {
			id := fmt.Sprintf("job-%d", i)
			switch {
			case ended[id] > 0:
			case given[id] > 0: // it never fails, so what it was given comes back from nowhere
				ofOld++
			default:
				lost = append(lost, id)
			}
		}
		if d := r.listDepths(); len(lost) > 0 || d != (listDepths{}) {
			return fmt.Errorf("neither side has ended %d jobs that the old one was not given, such as %v; keys hold %+v", len(lost), lost[:min(5, len(lost))], d)
		}
		if ofOld > oldKills+1 { // the one that it has in hand just now
			return fmt.Errorf("the old worker was killed %d times and lost %d jobs", oldKills, ofOld)
		}
		return nil
	})
	theirs.kill()
	r.reportHalves(jobs, ourKills, oldKills, old.jobs())
}

// reportHalves tells what became of the jobs on either side.
func (r *rig) reportHalves(jobs, ourKills, oldKills int, given map[string]int) {
	r.t.Helper()
	ours, theirs := r.runs("E"), legacyRuns(r.t, r.oldLogs())
	lost, twice := 0, 0
	for i := range jobs {
		switch id := fmt.Sprintf("job-%d", i); {
		case ours[id]+theirs[id] == 0:
			lost++
		case ours[id]+theirs[id] > 1:
			twice++
		}
	}
	if len(ours) == 0 || len(theirs) == 0 {
		r.t.Errorf("%d jobs ended here and %d there: the two did not share the list", len(ours), len(theirs))
	}
	r.t.Logf("%d jobs. The sidecar, killed %d times: %d runs, %d jobs ended, 0 lost. The old worker, killed %d times: given %d, ended %d, lost %d. %d jobs ended more than once",
		jobs, ourKills, len(r.order("S")), len(ours), oldKills, len(given), len(theirs), lost, twice)
}

// produceList has the old producer write jobs job-0, job-1, … to smsKey.
func (r *rig) produceList(jobs int) {
	r.t.Helper()
	cmd := exec.Command("php", filepath.Join("..", "..", "testdata", "legacy", "producer.php"), "--redis="+r.redis.Socket,
		"--kind=list", "--queue="+smsKey, "--prefix=job", "--pipeline=100", fmt.Sprintf("--n=%d", jobs))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("produce: %v\n%s", err, out)
	}
}

// Going back is stopping the one and starting the other: the old worker finishes what is in the list, retries of ours
// included. What waits with a delay waits in a key that the old one does not know, until it is handed back.
func TestGoingBackTheOldListWorkerFinishesWhatTheSidecarLeft(t *testing.T) { eachMode(t, goingBack) }

func goingBack(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const jobs, early, delayed, retried = 320, 40, 4, 20
	r := newListRig(t, 4)
	r.mode = mode
	config := r.smsConfig(`retry = ["0s", "1h"]`)
	p := r.start(config)
	r.lpush(smsKey, smsJobs("late", delayed, `"fail":true`)...) // fail at once, and again, and then wait for an hour
	r.wantDepths(listDepths{pool: delayed}, 20*time.Second)
	r.lpush(smsKey, smsJobs("again", retried, `"fail_once":true`)...)
	r.lpush(smsKey, smsJobs("first", early, "")...)
	r.lpush(smsKey, smsJobs("held", jobs-early, `"wait":"stop"`)...) // until the sidecar stops
	eventually(t, 30*time.Second, func() error {
		held := func(id string) bool { return strings.HasPrefix(id, "held-") } // any of them: in mode worker some lie behind others
		if ended := len(r.order("E")); ended < early/2 || !slices.ContainsFunc(r.order("S"), held) {
			return fmt.Errorf("%d jobs have ended, of %d before those that are held", ended, early)
		}
		return nil
	})
	p.stoppedAt("stop", r)
	left, ended := r.listDepths(), r.order("E")
	if left.running != 0 || left.dead != 0 || left.list == 0 || left.list+left.pool+int64(len(ended)) != jobs+retried+delayed {
		t.Fatalf("%d jobs have ended, keys hold %+v, want all others in list or pool", len(ended), left)
	}

	r.startOldWorker(r.redis.Socket)
	r.wantDepths(listDepths{pool: left.pool}, 30*time.Second)
	r.wantKeysOfOurs("sidecar:pool:" + smsKey)
	r.verb(0, config, "handback", "send_sms")
	r.wantDepths(listDepths{}, 30*time.Second)
	r.wantKeysOfOurs()
	eventually(t, 20*time.Second, func() error {
		done := legacyRuns(t, r.oldLogs())
		for _, id := range ended {
			done[id]++
		}
		for id, n := range done {
			if n != 1 && id[:4] != "late" {
				t.Fatalf("%s was done %d times", id, n)
			}
		}
		if len(done) != jobs+retried+delayed {
			return fmt.Errorf("%d jobs were done by one or the other", len(done))
		}
		return nil
	})
}

// wantKeysOfOurs looks for the keys that the sidecar has beside those of the old worker, of which none but these may
// hold a job.
func (r *rig) wantKeysOfOurs(want ...string) {
	r.t.Helper()
	keys, err := r.rdb.Keys(context.Background(), "sidecar:*").Result()
	keys = slices.DeleteFunc(keys, func(key string) bool { return ofPulse("", key) })
	if err != nil || !slices.Equal(keys, want) {
		r.t.Errorf("our keys are %v (%v), want %v", keys, err, want)
	}
}
