package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReloadRefusesABadConfigurationAndKeepsTheOld(t *testing.T) {
	r := newRig(t, 2)
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(10 * time.Second)

	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	r.write("sidecar.toml", string(good)+"\nleese = \"3s\"\n")
	p.signal(syscall.SIGHUP)
	eventually(t, 5*time.Second, func() error {
		if p.count("reload refused") != 1 {
			return fmt.Errorf("the log does not say that the reload was refused")
		}
		return nil
	})
	if p.count("leese") == 0 {
		t.Error("the log does not name the wrong key")
	}
	r.produce(10, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
	r.wantOneRunEach(10)
}

func TestReloadUnderLoadSwitchesWithoutLosingAJob(t *testing.T) {
	const jobs = 1500
	r := newRig(t, 4)
	config := r.config("", "")
	p := r.start(config)
	p.wantReady(10 * time.Second)
	r.produce(jobs, 1000, 0, 3)
	base, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r.wantStarted(len(r.runs("S")) + 20)
		// Another pool under the same name, then another topic on it: both take over from running ones.
		children := strings.Replace(string(base), "children = 4", fmt.Sprintf("children = %d", 4-i/2), 1)
		r.write("sidecar.toml", children+fmt.Sprintf("workers = %d\n", i%2+1))
		p.reload(i + 1)
	}
	r.wantEmpty(time.Minute)
	r.wantOneRunEach(jobs)
	r.wantNoRetries()
}

func TestHangupWithNothingChangedIsHarmless(t *testing.T) {
	r := newRig(t, 2)
	p := r.start(r.config("", ""))
	p.wantReady(10 * time.Second)
	for i := range 20 {
		p.signal(syscall.SIGHUP)
		eventually(t, 5*time.Second, func() error {
			if p.count("nothing has changed") < i+1 {
				return fmt.Errorf("reload %d is not in the log", i+1)
			}
			return nil
		})
	}
	r.produce(10, 0, 0, 0)
	r.wantEmpty(10 * time.Second)
}

func TestASecondSidecarWithTheSamePIDFileIsRefused(t *testing.T) {
	r := newRig(t, 2)
	pidFile := filepath.Join(r.dir, "consumer.pid")
	config := r.config(fmt.Sprintf("pid_file = %q", pidFile), "")
	first := r.start(config)
	first.wantReady(10 * time.Second)
	second := r.start(config)
	second.wantExit(1, 10*time.Second)
	if !strings.Contains(strings.Join(second.lines(), "\n"), fmt.Sprint(first.cmd.Process.Pid)) {
		t.Errorf("the refusal does not name the holder:\n%s", strings.Join(second.lines(), "\n"))
	}
}
