package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestBesideTheLegacyConsumerEveryJobRunsOnce(t *testing.T) { eachMode(t, besideTheLegacyConsumer) }

func besideTheLegacyConsumer(t *testing.T, mode string) {
	t.Helper()
	jobs := scaledTo(4000, 1200)
	r := newRig(t, 4)
	r.mode = mode
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	legacyLog := r.startLegacy()
	r.produce(jobs, 2000, 0, 1)

	r.wantEmpty(time.Minute)
	ours, theirs := r.runs("E"), legacyRuns(t, legacyLog)
	for uuid, n := range theirs {
		ours[uuid] += n
	}
	if len(ours) != jobs {
		t.Errorf("%d of %d jobs ended on either side", len(ours), jobs)
	}
	for uuid, n := range ours {
		if n != 1 {
			t.Errorf("%s ended %d times", uuid, n)
		}
	}
	if len(theirs) == 0 || len(theirs) == jobs {
		t.Errorf("the legacy consumer ran %d of %d jobs: the two did not share the topic", len(theirs), jobs)
	}
	t.Logf("the legacy consumer ran %d jobs, the sidecar %d", len(theirs), jobs-len(theirs))
}

func TestGoingBackTheLegacyConsumerFinishesWhatTheSidecarRetried(t *testing.T) {
	t.Parallel()
	const jobs, failEvery = 200, 4
	r := newRig(t, 4)
	p := r.start(r.config("", `retry = ["1h"]`))
	r.produce(jobs, 0, failEvery, 0)
	eventually(t, 30*time.Second, func() error {
		if d := r.depths(); d.pool != jobs/failEvery || d.ready+d.running != 0 {
			return fmt.Errorf("keys hold %+v, want the %d failed jobs in the pool", d, jobs/failEvery)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 10*time.Second)
	r.letAllBeDue()

	legacyLog := r.startLegacy()
	r.wantEmpty(30 * time.Second)
	if got := len(legacyRuns(t, legacyLog)); got != jobs/failEvery {
		t.Errorf("the legacy consumer ran %d jobs, want the %d that had failed", got, jobs/failEvery)
	}
}

// letAllBeDue makes all jobs in the pool due, as time would.
func (r *rig) letAllBeDue() {
	r.t.Helper()
	entries, err := r.rdb.ZRange(r.t.Context(), "delay:pool:"+topic, 0, -1).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, text := range entries {
		if err := r.rdb.ZAddXX(r.t.Context(), "delay:pool:"+topic, redis.Z{Score: 1, Member: text}).Err(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// startLegacy runs the old consumer on the rig's topic until the test ends, and returns the prefix of its logs.
func (r *rig) startLegacy() (logPrefix string) {
	r.t.Helper()
	logPrefix = filepath.Join(r.dir, "legacy")
	cmd := exec.Command("php", filepath.Join("..", "..", "testdata", "legacy", "pcntl_pool.php"),
		"--redis="+r.redis.Socket, "--topic="+topic, "--workers=2", "--scanners=1", "--interval-ms=20", "--handler=usleep:1000", "--log="+logPrefix)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group that we started
		_ = cmd.Wait()
	})
	return logPrefix
}

// legacyRuns counts the ends of each uuid in the old consumer's logs.
func legacyRuns(t testing.TB, prefix string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*")
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]int)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "E" {
				runs[f[1]]++
			}
		}
	}
	return runs
}
