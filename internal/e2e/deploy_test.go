package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shop is a rig whose code lies in releases, with a symlink to the current one, as deploy tools lay it out.
type shop struct {
	*rig
	release int
}

func newShop(t *testing.T, children int) *shop {
	t.Helper()
	s := &shop{rig: newRig(t, children)}
	s.mode, s.script = "worker", "current/job.php"
	s.deploy()
	return s
}

// deploy writes the next release and makes it the current one, in one step.
func (s *shop) deploy() {
	s.t.Helper()
	s.release++
	name := fmt.Sprintf("releases/%d", s.release)
	if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	job, err := os.ReadFile(filepath.Join("testdata", "released.php"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name+"/job.php", strings.ReplaceAll(string(job), "RELEASE", fmt.Sprint(s.release)))
	s.write(name+"/boot.php", fmt.Sprintf("<?php\nconst BOOT = %d;\nrequire __DIR__ . '/lib.php';\n", s.release))
	s.write(name+"/lib.php", fmt.Sprintf("<?php\nconst LIB = %d;\n", s.release))
	next := filepath.Join(s.dir, "next")
	if err := os.Symlink(name, next); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(s.dir, "current")); err != nil {
		s.t.Fatal(err)
	}
}

// ready puts jobs first to last into ready, due now.
func (s *shop) ready(first, last int) {
	s.t.Helper()
	log := filepath.Join(s.dir, "runs.log")
	for i := first; i < last; {
		pipe := s.rdb.Pipeline()
		for end := min(last, i+1000); i < end; i++ {
			pipe.RPush(context.Background(), "delay:ready:"+topic, fmt.Sprintf(`{"uuid":"j%d","log":%q,"retry":0}`, i, log))
		}
		if _, err := pipe.Exec(context.Background()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ranOn returns which release each job ran on, and fails when one ran on a mixture of two.
func (s *shop) ranOn() map[string]string {
	s.t.Helper()
	ran := map[string]string{}
	for line := range s.runs("release") {
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != f[2] || f[2] != f[3] {
			s.t.Errorf("%q: want bootstrap, what it includes and script of one release", line)
			continue
		}
		ran[f[0]] = f[3]
	}
	return ran
}

func TestDeploysUnderLoadRunEachJobOnceOnOneRelease(t *testing.T) {
	jobs := scaled(5000)
	s := newShop(t, 4)
	p := s.start(s.config("", fmt.Sprintf("bootstrap = %q\n", filepath.Join(s.dir, "current/boot.php"))))
	p.wantReady(10 * time.Second)
	s.ready(0, jobs)
	for s.marked("E") < jobs {
		<-time.After(deployEvery())
		s.deploy()
	}
	s.wantEmpty(time.Minute)

	s.deploy()
	last := s.release
	<-time.After(time.Second) // an idle worker looks at its code when the next job comes, at the latest
	s.ready(jobs, jobs+200)
	s.wantEmpty(30 * time.Second)
	s.wantOneRunEach(jobs + 200)
	ran := s.ranOn()
	seen := map[string]int{}
	for _, release := range ran {
		seen[release]++
	}
	for i := jobs; i < jobs+200; i++ {
		if got := ran[fmt.Sprintf("j%d", i)]; got != fmt.Sprint(last) {
			t.Fatalf("job %d came after the last deploy and ran on release %q, want %d", i, got, last)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only releases %v were seen by jobs, of %d", seen, last)
	}
	s.wantNoRetries()
	t.Logf("%d jobs, %d releases of which %d ran jobs", jobs+200, last, len(seen))
}

func TestReloadRenewsTheCodeThatNobodyCanSeeChange(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	pidFile := filepath.Join(s.dir, "sidecar.pid")
	config := s.config(fmt.Sprintf("pid_file = %q", pidFile), fmt.Sprintf("bootstrap = %q\n", filepath.Join(s.dir, "current/boot.php")))
	p := s.start(config)
	p.wantReady(10 * time.Second)
	s.ready(0, 20)
	s.wantEmpty(10 * time.Second)

	s.write("releases/1/lib.php", "<?php\nconst LIB = 'new';\n")
	s.runVerb("reload", "-c", config)
	eventually(t, 5*time.Second, func() error {
		if p.count("resident workers are renewed") != 1 {
			return fmt.Errorf("the log does not say that workers are renewed")
		}
		return nil
	})
	s.ready(20, 40)
	s.wantEmpty(10 * time.Second)
	s.wantOneRunEach(40)
	for i := 20; i < 40; i++ {
		if s.runs("release")[fmt.Sprintf("j%d 1 new 1", i)] != 1 {
			t.Errorf("job %d did not run with the file that changed", i)
		}
	}
}
