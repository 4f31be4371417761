package e2e

import (
	"context"
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

// The unit gives the sidecar no capability and no way to gain one: as the user of the pool's children it still runs
// jobs, and kills a script over its timeout.
func TestItRunsWithTheRightsThatItsUnitGives(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	r := newRig(t, 2)
	bridge := filepath.Join(r.fpm.Dir, "bridge")
	if err := os.Mkdir(bridge, 0o750); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(binary): 0o755, filepath.Dir(r.redis.Socket): 0o755, r.redis.Socket: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	own(t, bridge, testenv.FPMUser)
	own(t, strings.TrimPrefix(r.fpm.Listen, "unix://"), testenv.FPMUser)
	config := r.config(`log_level = "debug"`, "timeout = \"1s\"\nretry = []\n")
	p := r.startCommand(exec.Command("setpriv", "--reuid="+testenv.FPMUser, "--regid=nogroup", "--clear-groups",
		"--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "sh", "-c", `umask 0027; ulimit -c 0; exec "$0" run -c "$1"`, binary, config))
	p.wantReady(20 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status), line) {
			t.Errorf("it runs without %q:\n%s", line, status)
		}
	}
	ctx := context.Background()
	for i := range 5 {
		if err := r.rdb.RPush(ctx, "delay:ready:"+topic, fmt.Sprintf(`{"uuid":"a%d"}`, i)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.rdb.RPush(ctx, "delay:ready:"+topic, `{"uuid":"slow","hang":true}`).Err(); err != nil {
		t.Fatal(err)
	}
	r.wantDead(1, 30*time.Second)
	if got := r.runs("E"); len(got) != 5 {
		t.Errorf("%d jobs ended, want 5: %v", len(got), got)
	}
	p.wantMetric(`sidecar_fpm_stops_total{pool="default",way="signal"}`, 1)
	if info, err := os.Stat(bridge); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(0, 10*time.Second)
}

// own gives path to a user.
func own(t *testing.T, path, user string) {
	t.Helper()
	if out, err := exec.Command("chown", user, path).CombinedOutput(); err != nil {
		t.Fatalf("chown: %v\n%s", err, out)
	}
}
