package testenv

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartChild starts cmd, which dies with the tests, even if those are killed: by its Pdeathsig, or else by SIGKILL. done
// is closed when it has ended. The signal follows the thread which forked, so that is kept until then.
func StartChild(cmd *exec.Cmd) (done chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	done = make(chan struct{})
	started := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // most are killed: how they ended says nothing
		}
	}()
	return done, <-started
}
