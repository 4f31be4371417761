package faults

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"sidecar/internal/testenv"
)

// kindsOfProcess are what happens to the sidecars and to PHP-FPM.
func kindsOfProcess() []kind {
	return []kind{
		{name: "sidecar-kill", about: "SIGKILL of a sidecar at any moment, started again at once", strike: killSidecar},
		{name: "sidecar-kill-running", about: "SIGKILL of a sidecar while PHP runs a job of its", strike: killSidecarWhilePHPRuns},
		{name: "sidecar-freeze", about: "SIGSTOP of a sidecar, within its leases or past them, then SIGCONT", strike: freezeSidecar},
		{name: "sidecar-term", about: "TERM to a sidecar, as releases do, started again when it has ended", strike: restartSidecar, harmless: true},
		{name: "sidecar-hup", about: "HUP to a sidecar whose configuration has changed", strike: reloadSidecar, harmless: true},
		{name: "fpm-child-kill", about: "SIGKILL of a PHP child while it runs a job", strike: killChild},
		{name: "fpm-master-kill", about: "SIGKILL of FPM's master, the orphans killed as systemd does, a new one started", strike: killMaster},
		{name: "fpm-reload", about: "USR2 to FPM, which cuts what runs", strike: reloadFPM},
		{
			name: "fpm-reload-graceful", about: "USR2 to FPM, which waits for what runs (process_control_timeout)", strike: reloadFPMGracefully, harmless: true,
			fpm: testenv.FPMOptions{ProcessControlTimeout: 10 * time.Second}, alone: true,
		},
		{name: "fpm-restart", about: "FPM stopped, for up to a second, and started", strike: restartFPM},
		diskFull(),
		replayKilled(),
		{name: "old-kill", about: "SIGKILL of a worker or scanner of the old consumer", strike: killOldWorker, harmless: true},
	}
}

func killSidecar(_ context.Context, s *shop) error {
	p := s.any()
	p.kill()
	p.start()
	return nil
}

func killSidecarWhilePHPRuns(_ context.Context, s *shop) error {
	p := s.any()
	met := eventually(readyWithin, func() bool {
		return slices.ContainsFunc(s.ledger.running(), func(r run) bool { return r.who == p.name })
	})
	if !met {
		return fmt.Errorf("sidecar %s runs nothing", p.name)
	}
	p.kill()
	p.start()
	return nil
}

func freezeSidecar(ctx context.Context, s *shop) error {
	cont := s.any().freeze()
	defer cont()
	pause := time.Duration(s.rng.IntN(1000)) * time.Millisecond
	if s.rng.IntN(2) == 0 {
		pause += 3 * time.Second // the lease
	}
	return wait(ctx, pause)
}

func restartSidecar(_ context.Context, s *shop) error {
	p := s.any()
	if err := p.stop(); err != nil {
		return err
	}
	p.start()
	return nil
}

func reloadSidecar(_ context.Context, s *shop) error {
	p := s.any()
	p.changes++
	p.configure()
	done := p.logged("reloaded")
	p.signal(syscall.SIGHUP)
	if !eventually(readyWithin, func() bool { return p.logged("reloaded") > done }) {
		return fmt.Errorf("sidecar %s does not reload", p.name)
	}
	return nil
}

func killChild(_ context.Context, s *shop) error {
	var hit run
	met := eventually(readyWithin, func() bool {
		for _, r := range s.ledger.running() {
			if s.isChild(r.pid) {
				hit = r
				return true
			}
		}
		return false
	})
	if !met {
		return fmt.Errorf("no child runs a job")
	}
	s.killPID(hit.pid)
	return nil
}

// killPID kills a child of this shop's FPM.
func (s *shop) killPID(pid int) {
	over := s.mark(childKilled, "", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	over()
}

func killMaster(ctx context.Context, s *shop) error {
	s.fpm.Pause() // so that it starts no child meanwhile
	children := s.fpm.Children()
	s.fpm.KillMaster()
	err := wait(ctx, time.Duration(s.rng.IntN(300))*time.Millisecond) // orphans go on, and hold the address
	for _, pid := range children {
		s.killPID(pid)
	}
	network, address, _ := strings.Cut(s.fpm.Listen, "://")
	gone := eventually(readyWithin, func() bool {
		conn, err := net.Dial(network, address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	if !gone {
		return fmt.Errorf("orphans still listen")
	}
	s.fpm.Start()
	return err
}

func reloadFPM(_ context.Context, s *shop) error {
	defer s.mark(fpmGone, "", 0)()
	return s.reloadFPM()
}

func reloadFPMGracefully(_ context.Context, s *shop) error { return s.reloadFPM() }

// reloadFPM returns when all children are new.
func (s *shop) reloadFPM() error {
	before := s.fpm.Children()
	s.fpm.Reload()
	met := eventually(readyWithin, func() bool {
		now := s.fpm.Children()
		return len(now) > 0 && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
	})
	if !met {
		return fmt.Errorf("children of before %v are still there: %v", before, s.fpm.Children())
	}
	return nil
}

func restartFPM(ctx context.Context, s *shop) error {
	defer s.mark(fpmGone, "", 0)()
	s.fpm.Stop()
	err := wait(ctx, time.Duration(s.rng.IntN(1000))*time.Millisecond)
	s.fpm.Start()
	return err
}

func killOldWorker(_ context.Context, s *shop) error {
	var pids []int
	if !eventually(readyWithin, func() bool { pids = s.old.workers(); return len(pids) > 0 }) {
		return fmt.Errorf("the old consumer has no workers")
	}
	_ = syscall.Kill(pids[s.rng.IntN(len(pids))], syscall.SIGKILL) // of the group that we started; it may have ended
	return nil
}
