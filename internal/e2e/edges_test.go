package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
)

// The tests here are the hard edges: jobs and replies of a size, or of a kind, that nobody plans for.

// A job in whose run the sidecar dies, each time, ends in dead after max_crashes; its last run is alone, so that no other
// pays for it, and all others are done.
func TestAJobThatKillsTheSidecarEndsInDeadAndHarmsNoOther(t *testing.T) {
	t.Parallel()
	const maxCrashes, others = 2, 60
	r := newRig(t, 4)
	r.script = "deadly.php"
	r.write(r.script, `<?php
$note = fn (string $mark) => file_put_contents(__DIR__ . '/runs.log', "$mark {$job['uuid']}\n", FILE_APPEND);
$note('S');
usleep(empty($job['deadly']) ? 30000 : 5000000); // the sidecar is killed meanwhile
$note('E');`)
	config := r.config("", fmt.Sprintf("lease = \"3s\"\nretry = [\"50ms\"]\nmax_crashes = %d", maxCrashes))
	pushed := 0
	for run := 1; run <= maxCrashes+1; run++ {
		p := r.start(config)
		if run == 1 {
			r.push(`{"uuid":"deadly","deadly":true}`)
		}
		for range others { // there are always some that could run beside it
			r.push(fmt.Sprintf(`{"uuid":"job-%d"}`, pushed))
			pushed++
		}
		eventually(t, 30*time.Second, func() error {
			if n := r.runs("S")["deadly"]; n < run {
				return fmt.Errorf("%d runs of the deadly job, want %d", n, run)
			}
			return nil
		})
		if run == maxCrashes+1 {
			for uuid, n := range r.runs("S") {
				if ended := r.runs("E")[uuid]; uuid != "deadly" && ended < n {
					t.Errorf("%s runs beside the last run of the deadly job", uuid)
				}
			}
		}
		p.kill()
	}
	r.start(config)
	records := r.wantDead(1, time.Minute)
	if got := records[0].Job; got.UUID != "deadly" || got.Crashes != maxCrashes+1 || got.Retry != 0 {
		t.Errorf("dead holds %+v, want the deadly job with %d crashes", records[0], maxCrashes+1)
	}
	for i := range pushed {
		if r.runs("E")[fmt.Sprintf("job-%d", i)] == 0 {
			t.Errorf("job-%d was not done", i)
		}
	}
}

// peak is the most memory that a process has had, in MB.
func (p *instance) peak() int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	kb, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kb >> 10
}

// 300 MB of output are read and thrown away; the job is what it would be without them.
func TestAReplyOf300MegabytesTakesNoMemory(t *testing.T) { eachMode(t, hugeReply) }

func hugeReply(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const most = 120 // MB; an idle sidecar has 40
	r := newRigWith(t, testenv.FPMOptions{Children: 2})
	r.mode, r.script = mode, "huge.php"
	r.write(r.script, `<?php
for ($i = 0; $i < 300; $i++) { echo str_repeat('x', 1 << 20); }
if (!empty($job['fails'])) { throw new RuntimeException('after all that'); }`)
	p := r.start(r.config("", `retry = []`))
	p.wantReady(10 * time.Second)
	r.push(`{"uuid":"done"}`)
	r.push(`{"uuid":"failed","fails":true}`)
	records := r.wantDead(1, time.Minute)
	if records[0].Job.UUID != "failed" || records[0].Error != "after all that" {
		t.Errorf("dead holds %+v, want the job that failed", records[0])
	}
	if mb := p.peak(); mb > most {
		t.Errorf("the sidecar took %d MB, want %d at most", mb, most)
	}
}

// A text of many megabytes, 20 at full length, is promoted, claimed, run, retried, buried, replayed and done, and stays the
// same to the last byte.
func TestATextOfManyMegabytesGoesAllTheWay(t *testing.T) { eachMode(t, hugeText) }

func hugeText(t *testing.T, mode string) {
	t.Helper()
	const patience = 3 * time.Minute // beside others Redis may need longer than a timeout, and the job then comes back
	r := newRigWith(t, testenv.FPMOptions{Children: 2})
	r.mode, r.script = mode, "large.php"
	r.write(r.script, `<?php return function (array $job, string $text): void {
    file_put_contents(__DIR__ . '/runs.log', 'S ' . $job['uuid'] . '-' . md5($job['payload']) . "\n", FILE_APPEND);
    if (!isset($job['replayed_at'])) { throw new RuntimeException('not yet'); }
};`)
	patient := *r.rdb.Options() // tens of megabytes take their time on a busy machine
	patient.ReadTimeout, patient.WriteTimeout = time.Minute, time.Minute
	r.rdb = redis.NewClient(&patient)
	t.Cleanup(func() { _ = r.rdb.Close() })
	config := r.config("", "retry = [\"50ms\"]\nmemory_limit = \"1G\"")
	p := r.start(config)
	p.wantReady(20 * time.Second)
	payload := strings.Repeat("超时关单 ", min(20, 4+2*scale())<<20/13)
	r.push(`{"uuid":"large","retry":0,"payload":"` + payload + `"}`)
	records := r.wantDead(1, patience)
	if got := records[0]; got.Job.UUID != "large" || got.Job.Retry != 2 || got.Error != "not yet" {
		t.Fatalf("dead holds %s with %d tries: %s", got.Job.UUID, got.Job.Retry, got.Error)
	}
	if mode == "worker" && scale() > 7 { // what no frame takes fails with a word of what to do
		r.push(`{"uuid":"larger","payload":"` + payload + payload + `"}`)
		records = r.wantDead(2, patience)
		if got := records[1]; got.Job.UUID != "larger" || !strings.Contains(got.Error, `use mode = "request"`) {
			t.Errorf("%s is dead for %q", got.Job.UUID, got.Error)
		}
	}
	if out, err := exec.Command(binary, "replay", topic, "--limit", "1", "-c", config, "--undo-dir", t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("replay: %v\n%s", err, out)
	}
	eventually(t, patience, func() error {
		if d := r.depths(); d.pool+d.ready+d.running != 0 {
			return fmt.Errorf("keys hold %+v", d)
		}
		return nil
	})
	runs := r.runs("S")
	for id, n := range runs {
		if strings.HasPrefix(id, "large-") && n != 3 {
			t.Errorf("%d runs of %s, want one, its retry, and one after the replay, all with the same payload", n, id)
		}
	}
	if len(runs) != 1 {
		t.Errorf("ran as %v", runs)
	}
	t.Logf("mode %s: the sidecar took %d MB", mode, p.peak())
}

// 20,000 levels are no job that PHP can decode: a failure like any other, and dead has it whole.
func TestTwentyThousandLevelsDieWhole(t *testing.T) { eachMode(t, twentyThousandLevels) }

func twentyThousandLevels(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	const levels = 20000
	r := newRigWith(t, testenv.FPMOptions{Children: 2})
	r.mode, r.script = mode, "strict.php"
	r.write(r.script, `<?php if ($job === null) { throw new RuntimeException(json_last_error_msg()); }`)
	r.start(r.config("", `retry = ["50ms"]`))
	text := `{"uuid":"deep","payload":` + strings.Repeat(`{"a":[`, levels/2) + strings.Repeat(`]}`, levels/2) + `}`
	r.push(text)
	r.push(`{"uuid":"flat"}`)
	eventually(t, 30*time.Second, func() error {
		if d := r.depths(); d.pool+d.ready+d.running != 0 || d.dead != 1 {
			return fmt.Errorf("keys hold %+v, want the deep job in dead alone", d)
		}
		return nil
	})
	var record struct {
		Job struct {
			Raw string `json:"sidecar_raw"`
		}
		Error string
	}
	dead := r.rdb.LIndex(context.Background(), "delay:dead:"+topic, 0).Val()
	if err := json.Unmarshal([]byte(dead), &record); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(record.Job.Raw)
	if err != nil || !strings.HasPrefix(string(raw), text[:len(text)-1]) {
		t.Errorf("dead holds %d bytes (%v), want the job's %d and what a failure adds", len(raw), err, len(text))
	}
}

// stranger is a user that may neither signal FPM's children nor read what is not everybody's.
const stranger = 65533

// A script that never ends and that nobody can kill keeps its slot and its lease until abandon_after. All others go on,
// and it does not keep the sidecar from stopping.
func TestAScriptThatCannotBeKilledKeepsItsSlotOnly(t *testing.T) { eachMode(t, unkillable) }

func unkillable(t *testing.T, mode string) {
	t.Helper()
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be somebody else than php-fpm's children")
	}
	r := newRigWith(t, testenv.FPMOptions{Children: 2, Ini: []string{"disable_functions = posix_kill"}})
	r.mode = mode
	bridge := filepath.Join(r.fpm.Dir, "bridge")
	if err := os.Mkdir(bridge, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, do := range map[string]func(string) error{
		bridge:               func(path string) error { return os.Chown(path, stranger, stranger) },
		filepath.Dir(binary): func(path string) error { return os.Chmod(path, 0o755) },
	} {
		if err := do(path); err != nil {
			t.Fatal(err)
		}
	}
	config := r.config(`grace = "2s"`, "lease = \"3s\"\ntimeout = \"1s\"\nabandon_after = \"15s\"\nretry = [\"1h\"]")
	cmd := exec.Command(binary, "run", "-c", config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	p := r.startCommand(cmd)
	p.wantReady(20 * time.Second)

	r.push(`{"uuid":"endless","hang":true}`)
	r.wantStarted(1)
	r.produce(30, 0, 0, 10)
	eventually(t, 20*time.Second, func() error {
		switch d := r.depths(); {
		case r.marked("E") != 30 || d.ready+d.pool != 0 || d.running != 1: // the last one may not be settled yet
			return fmt.Errorf("%d of the others have ended, keys hold %+v", r.marked("E"), d)
		case p.count("cannot be stopped") == 0:
			return fmt.Errorf("nothing says that a script cannot be stopped")
		}
		return nil
	})
	if n := r.runs("S")["endless"]; n != 1 {
		t.Errorf("the endless job, which is under its lease, was run %d times, want once", n)
	}
	eventually(t, 30*time.Second, func() error {
		if d := r.depths(); d.running != 0 || d.pool != 1 || p.count("abandoned, may still run")+p.count("is abandoned") == 0 {
			return fmt.Errorf("keys hold %+v, want the abandoned job in the pool, for its retry", d)
		}
		return nil
	})

	r.push(`{"uuid":"endless too","hang":true}`)
	eventually(t, 20*time.Second, func() error {
		if r.runs("S")["endless too"] == 0 {
			return fmt.Errorf("the other child does not run it")
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 20*time.Second)
	if d := r.depths(); d.running != 1 || d.pool != 1 {
		t.Errorf("keys hold %+v after the stop, want the job that may still run under its lease", d)
	}
}
