package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"sidecar/internal/testenv"
)

// oldConsumer is the legacy consumer: a parent, its scanners and its workers.
type oldConsumer struct {
	logs string // prefix of its handlers' logs
	cmd  *exec.Cmd
}

// startOld runs the old consumer on the shared topic until the test ends, with options beyond those that all have.
// It is mended in one point: dead scanners come back as scanners. Else it would stop for good at the first fault.
func (s *shop) startOld(options ...string) *oldConsumer {
	s.t.Helper()
	o := &oldConsumer{logs: filepath.Join(s.fpm.Dir, "old")}
	log, err := os.OpenFile(filepath.Join(s.fpm.Dir, "old.out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	o.cmd = exec.Command("php", append([]string{
		filepath.Join("..", "..", "testdata", "legacy", "pcntl_pool.php"),
		"--redis=" + s.redis.Addr, "--topic=" + topicShared, "--workers=2", "--scanners=1", "--interval-ms=20", "--idle-us=5000",
		"--fix-respawn=1", "--log=" + o.logs,
	}, options...)...)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done, err := testenv.StartChild(o.cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = syscall.Kill(-o.cmd.Process.Pid, syscall.SIGKILL) // the group that we started
		<-done
	})
	return o
}

// workers returns the pids of the scanners and workers.
func (o *oldConsumer) workers() []int { return testenv.ChildrenOf(o.cmd.Process.Pid) }
