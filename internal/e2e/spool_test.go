package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

const spooled = "queue:prod:spooled"

// newSpoolRig is a shop whose PHP has a driver for the spool.
func newSpoolRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, testenv.FPMOptions{Children: 4, Ini: []string{"extension = pdo", "extension = pdo_sqlite"}},
		"appendonly yes", "appendfsync always")
}

func (r *rig) spoolFile() string { return filepath.Join(r.dir, "spool.sqlite") }

// spoolConfig writes a sidecar.toml with a spool.
func (r *rig) spoolConfig(options string) string {
	r.t.Helper()
	return r.config("", fmt.Sprintf("lease = \"3s\"\nretry = [\"200ms\"]\n[spool.web]\ndsn = %q\n%s", "sqlite:"+r.spoolFile(), options))
}

// spool stores jobs for key, numbered from first on, as the web's user.
func (r *rig) spool(key string, first, count int) {
	r.t.Helper()
	cmd := exec.Command("php", "testdata/spool.php", r.spoolFile(), key, fmt.Sprint(first), fmt.Sprint(count))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("spool: %v\n%s", err, out)
	}
	r.giveSpoolToFPM()
}

// giveSpoolToFPM makes FPM's user the owner of the spool, as if that had written it.
func (r *rig) giveSpoolToFPM() {
	r.t.Helper()
	if os.Geteuid() != 0 {
		return // FPM's children are us
	}
	web, err := user.Lookup(testenv.FPMUser)
	if err != nil {
		r.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(web.Uid)
	gid, _ := strconv.Atoi(web.Gid)
	files, _ := filepath.Glob(r.spoolFile() + "*")
	for _, file := range files {
		if err := os.Chown(file, uid, gid); err != nil {
			r.t.Fatal(err)
		}
	}
}

// Killed again and again at any moment: each job is in its list once, and all are in the order in which they were stored.
func TestADrainThatIsKilledBringsEachJobInOnceAndInOrder(t *testing.T) {
	t.Parallel()
	const jobs, kills = 600, 8
	r := newSpoolRig(t)
	config := r.spoolConfig("batch = 3\nrate = 0\n")
	if out := r.verb(0, config, "spool", "drain", "web"); !strings.Contains(out, "0 rows are left") {
		t.Errorf("before anything was stored: %s", out)
	}
	r.spool(spooled, 0, jobs)
	if out := r.verb(0, config, "spool", "status", "web"); !strings.Contains(out, "600 rows, the oldest stored") || !strings.Contains(out, "600 for "+spooled) {
		t.Errorf("status: %s", out)
	}
	r.verb(0, config, "spool", "drain", "web", "--dry-run")

	length := func() int64 { return r.rdb.LLen(context.Background(), spooled).Val() }
	if n := length(); n != 0 {
		t.Errorf("a look brought %d in", n)
	}
	for kill := range kills {
		begun := length()
		drain := exec.Command(binary, "spool", "drain", "web", "-c", config)
		done, err := testenv.StartChild(drain)
		if err != nil {
			t.Fatal(err)
		}
		testenv.Poll(t, 30*time.Second, "rows to come in", func() bool { n := length(); return n > begun+int64(3*kill) || n == jobs })
		_ = drain.Process.Kill()
		<-done
	}
	if n := length(); n == jobs {
		t.Log("all were in before the last kill")
	}
	out := r.verb(0, config, "spool", "drain", "web", "--limit", "5")
	if !strings.Contains(out, "0 have to stay") {
		t.Errorf("drain of five: %s", out)
	}
	if out = r.verb(0, config, "spool", "drain", "web"); !strings.Contains(out, "0 rows are left") {
		t.Errorf("drain of the rest: %s", out)
	}
	var want []string
	for i := range jobs {
		want = append(want, fmt.Sprintf("job-%04d", i))
	}
	got := r.rdb.LRange(context.Background(), spooled, 0, -1).Val()
	slices.Reverse(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d jobs in the list, want the %d that were stored, once each and in order", len(got), jobs)
	}
}

// The running sidecar brings in what was stored, also after it was killed, and runs it.
func TestTheRunningSidecarDrainsItsSpool(t *testing.T) {
	t.Parallel()
	const jobs = 120
	r := newSpoolRig(t)
	config := r.spoolConfig("drain_every = \"1s\"\nbatch = 10\nrate = 200\n")
	r.spool("delay:pool:"+topic, 0, jobs/2)
	p := r.start(config)
	r.wantStarted(15)
	p.kill()
	r.spool("delay:pool:"+topic, jobs/2, jobs/2)
	p = r.start(config)
	eventually(t, time.Minute, func() error {
		if n := r.marked("S"); n != jobs {
			return fmt.Errorf("%d of %d jobs ran", n, jobs)
		}
		_, body, err := p.get("/metrics")
		if err != nil || !strings.Contains(body, `sidecar_spool_rows{spool="web"} 0`) {
			return fmt.Errorf("rows are left: %w", err)
		}
		if out := r.verb(0, config, "spool", "status", "web"); !strings.HasPrefix(out, "0 rows") { // the last are deleted a moment later
			return fmt.Errorf("status: %s", out)
		}
		return nil
	})
	p.wantReady(10 * time.Second)
}
