package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// The tests here are cases from the field (docs/field-cases.md) that ask for a running sidecar and a PHP-FPM, or a
// deployment, that misbehaves.

// C83, C153: the handler is missing while 500 jobs are ready. They wait, and none of them pays for it.
func TestAMissingHandlerCostsNoJobATry(t *testing.T) {
	t.Parallel()
	const jobs = 500
	r := newRig(t, 4)
	script := filepath.Join(r.dir, r.script)
	p := r.start(r.config("", `retry = ["50ms"]`))
	p.wantReady(10 * time.Second)
	if err := os.Rename(script, script+".away"); err != nil {
		t.Fatal(err)
	}
	r.produce(jobs, 0, 0, 0)
	p.wantNotReady(r.script, 10*time.Second)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		if d := r.depths(); d.pool+d.ready+d.running != jobs || d.dead != 0 {
			t.Fatalf("keys hold %+v while the handler is missing, want the %d jobs", d, jobs)
		}
	}
	if n := p.count(r.script); n == 0 || n > 10 {
		t.Errorf("%d log lines name the script, want a few", n)
	}
	if err := os.Rename(script+".away", script); err != nil {
		t.Fatal(err)
	}
	r.wantEmpty(30 * time.Second)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}

// C84: a handler with a syntax error fails its jobs by the ladder, without a hot loop; mended, it runs them all.
func TestABrokenHandlerFailsByTheLadder(t *testing.T) {
	t.Parallel()
	const jobs = 20
	for _, display := range []bool{false, true} {
		r := newRigOn(t, testenv.FPMOptions{Children: 2, DisplayErrors: display}, testenv.Redis(t))
		good, err := os.ReadFile(filepath.Join(r.dir, r.script))
		if err != nil {
			t.Fatal(err)
		}
		r.write(r.script, "<?php\nif if;")
		r.start(r.config("", `retry = ["2s", "2s"]`))
		r.produce(jobs, 0, 0, 0)
		eventually(t, 10*time.Second, func() error {
			failed := 0
			for _, text := range r.rdb.ZRange(context.Background(), "delay:pool:"+topic, 0, -1).Val() {
				if strings.Contains(text, `"retry":1,`) && strings.Contains(text, "syntax error, unexpected") {
					failed++
				}
			}
			if failed != jobs {
				return fmt.Errorf("%d of %d jobs have failed once, for their syntax error; keys hold %+v", failed, jobs, r.depths())
			}
			return nil
		})
		r.write(r.script, string(good))
		r.wantEmpty(15 * time.Second)
		r.wantOneRunEach(jobs)
	}
}

// C77: a job that kills its child is counted each time and ends in dead, with the reason.
func TestAJobThatKillsItsChildEndsInDead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.start(r.config("", "retry = [\"50ms\"]\nmax_crashes = 2"))
	r.push(`{"uuid":"dies","die":true}`)
	r.push(`{"uuid":"lives"}`)
	record := r.wantDead(1, 20*time.Second)[0]
	if record.Job.Crashes != 3 || record.Job.Retry != 0 || !strings.Contains(record.Error, "died") {
		t.Errorf("dead holds %+v, want 3 crashes, no try counted, and that the child died", record)
	}
	if s := r.runs("S"); s["dies"] != 3 || s["lives"] != 1 {
		t.Errorf("runs %v, want 3 of the one and 1 of the other", s)
	}
}

// deadRecord is what lies in dead.
type deadRecord struct {
	Job struct {
		UUID           string
		Retry, Crashes int
	}
	Error string
}

// wantDead waits until dead holds n records and the other keys are empty.
func (r *rig) wantDead(n int, within time.Duration) (records []deadRecord) {
	r.t.Helper()
	eventually(r.t, within, func() error {
		if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != int64(n) {
			return fmt.Errorf("keys hold %+v, want %d dead and nothing else", d, n)
		}
		return nil
	})
	for _, text := range r.rdb.LRange(context.Background(), "delay:dead:"+topic, 0, -1).Val() {
		var record deadRecord
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			r.t.Fatal(err)
		}
		records = append(records, record)
	}
	return records
}

// C135: a reload of FPM cuts what runs. That is a crash, never a success, and the jobs run again.
func TestAReloadOfFPMCutsJobsAndLosesNone(t *testing.T) {
	t.Parallel()
	const jobs = 20
	r := newRig(t, 4)
	// FPM's first signal ends a sleep early: whoever slept once would come to its end, and be killed a moment later.
	r.write("cut.php", `<?php
$note = fn (string $mark) => file_put_contents(__DIR__ . '/runs.log', $mark . ' ' . $job['uuid'] . "\n", FILE_APPEND);
$note('S');
for ($end = microtime(true) + 0.3; microtime(true) < $end;) {
    usleep(20000);
}
$note('E');`)
	r.script = "cut.php"
	p := r.start(r.config("", `retry = ["100ms"]`))
	p.wantReady(10 * time.Second)
	r.produce(jobs, 0, 0, 0)
	r.wantStarted(4)
	r.fpm.Reload()
	r.wantEmpty(30 * time.Second)
	r.wantOneRunEach(jobs)
	cut := 0
	for _, n := range r.runs("S") {
		cut += n - 1
	}
	if cut == 0 {
		t.Error("no run was cut")
	}
	p.wantMetric(`sidecar_outcomes_total{outcome="crashed",topic="`+topic+`"}`, float64(cut))
	p.wantMetric(`sidecar_outcomes_total{outcome="done",topic="`+topic+`"}`, jobs)
	if failed := p.metric(`sidecar_outcomes_total{outcome="failed",topic="` + topic + `"}`); failed != 0 {
		t.Errorf("%v runs counted as failed, want none", failed)
	}
}

// C136: a socket that comes back as another file with other rights. The jobs wait, and the log says what is missing.
func TestASocketThatDeniesUsIsNamedAndWaitedFor(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	const jobs = 50
	mode := testenv.FPMOptions{Children: 2, Pool: []string{"listen.mode = 0660"}}
	r := newRigOn(t, mode, testenv.Redis(t))
	socket := strings.TrimPrefix(r.fpm.Listen, "unix://")
	admit := func() {
		t.Helper()
		if err := os.Chmod(socket, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	admit()
	bridge := filepath.Join(r.fpm.Dir, "bridge")
	if err := os.Mkdir(bridge, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "daemon", bridge).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := r.config("", `retry = ["50ms"]`)
	own := filepath.Join(r.dir, "sidecar") // the tests' own directory is not for other users
	if out, err := exec.Command("cp", binary, own).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := r.startCommand(exec.Command("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", own, "run", "-c", config))
	p.wantReady(10 * time.Second)
	r.fpm.Stop()
	r.produce(jobs, 0, 0, 0)
	p.wantNotReady("fpm pool", 10*time.Second)
	r.fpm.Start() // another inode, and 0660 again
	p.wantNotReady("listen.mode of the FPM pool must admit", 10*time.Second)
	admit()
	r.wantEmpty(20 * time.Second)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}

// C17, C23: what PHP cannot decode is the handler's failure like any other, and dead has it whole.
func TestWhatPHPCannotDecodeFailsAndDiesWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.write("strict.php", `<?php if ($job === null) { throw new RuntimeException(json_last_error_msg() . ' ' . md5(file_get_contents('php://input'))); }`)
	r.script = "strict.php"
	r.start(r.config("", `retry = ["50ms", "50ms"]`))
	r.push(`{"uuid":"deep","payload":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`)
	r.push("{\"uuid\":\"latin1\",\"payload\":{\"name\":\"caf\xE9\"}}")
	r.push(`{"uuid":"nul","payload":{"\u0000x":1,"v":"a\u0000b"}}`) // PHP can, as an array
	eventually(t, 20*time.Second, func() error {
		if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != 2 {
			return fmt.Errorf("keys hold %+v, want 2 dead and nothing else", d)
		}
		return nil
	})
	for _, text := range r.rdb.LRange(context.Background(), "delay:dead:"+topic, 0, -1).Val() {
		if !json.Valid([]byte(text)) || strings.Contains(text, "\uFFFD") || !strings.Contains(text, "sidecar_raw") {
			t.Errorf("dead holds %.200q, want valid JSON that has the bytes", text)
		}
	}
}

// C160: whoever supervises kills before the grace is over. The job comes back at its lease's end, counted.
func TestKilledDuringItsGraceTheJobComesBackCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	config := r.config(`grace = "29s"`, "lease = \"3s\"\nretry = [\"50ms\"]")
	p := r.start(config)
	r.push(`{"uuid":"long","sleep_ms":4000}`)
	r.wantStarted(1)
	p.signal(syscall.SIGTERM)
	p.wantNotReady("stopping", 5*time.Second)
	p.kill()
	r.start(config)
	eventually(t, 15*time.Second, func() error {
		for _, key := range []string{"delay:pool:", "delay:running:"} {
			for _, text := range r.rdb.ZRange(context.Background(), key+topic, 0, -1).Val() {
				if strings.Contains(text, `"crashes":1`) && strings.Contains(text, "lease expired") {
					return nil
				}
			}
		}
		return fmt.Errorf("the job has no crash counted")
	})
	r.wantEmpty(20 * time.Second)
	if n := r.runs("S")["long"]; n != 2 {
		t.Errorf("%d runs, want the one that was cut off from its sidecar and another", n)
	}
}

// C85: a handler with a lock of its own can tell a retry of its own job from a duplicate.
func TestAHandlerCanTellItsRetryFromADuplicate(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.write("locks.php", `<?php
$lock = __DIR__ . '/idem-' . $job['uuid'];
$before = $_SERVER['SIDECAR_TRIES'] + $_SERVER['SIDECAR_CRASHES'];
if (!@mkdir($lock) && $before === 0) {
    return; // a duplicate, as it believes
}
if ($before === 0) {
    $job['uuid'] === 'dies' ? posix_kill(getmypid(), 9) : throw new RuntimeException('no');
}
file_put_contents(__DIR__ . '/runs.log', 'E ' . $job['uuid'] . "\n", FILE_APPEND);`)
	r.script = "locks.php"
	r.start(r.config("", "retry = [\"50ms\"]\nidempotency = \"on\""))
	r.push(`{"uuid":"dies"}`)
	r.push(`{"uuid":"throws"}`)
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(2)
}
