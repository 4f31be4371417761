package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// moment is a step of a job at which a sidecar can be met from outside, by what it says to Redis.
type moment struct {
	script string
	when   step
}

// moments are the steps of a job: before the claim runs, before its reply is read, between claim and send, before
// the verdict is written, before it is known to be, and the same for failures and renewals.
var moments = []moment{
	{"claim", asked},
	{"claim", answered},
	{"claim", heard},
	{"completerows", asked},
	{"completerows", answered},
	{"complete", asked},
	{"complete", answered},
	{"requeue", asked},
	{"requeue", answered},
	{"bury", asked},
	{"bury", answered},
	{"renew", answered},
	{"promote", answered},
	{"claimlist", answered},
	{"takeacks", answered},
	{"requeuelist", asked},
	{"dropacks", answered},
	{"requeuelist", answered},
	{"burylist", asked},
	{"promotelist", answered},
}

// kindsOfStep meet a sidecar at one step of a job after the other.
func kindsOfStep() []kind {
	return []kind{
		{
			name: "step-kill", about: "SIGKILL of a sidecar at each step of a job in turn", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				return s.atMoment(ctx, func(p *sidecar) { p.kill() }, func(p *sidecar) { p.start() })
			},
		},
		{
			name: "step-freeze", about: "SIGSTOP of a sidecar at each step of a job in turn, until its leases have ended", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				var cont func()
				return s.atMoment(ctx, func(p *sidecar) { cont = p.freeze() }, func(*sidecar) {
					defer cont()
					linger(ctx, 3500*time.Millisecond) // the lease and what its keeper asked for last
				})
			},
		},
	}
}

// atMoment waits for the next moment in turn and hits the sidecar that is there, while what it said or is to hear waits.
// after runs when that has gone on.
func (s *shop) atMoment(ctx context.Context, hit, after func(*sidecar)) error {
	m := moments[s.moment%len(moments)]
	s.moment++
	met := make(chan *sidecar, 1)
	var once sync.Once
	stop := s.proxy.watch(m.script, m.when, func(front string) fate {
		once.Do(func() {
			p := s.sidecars[slices.IndexFunc(s.sidecars, func(p *sidecar) bool { return p.front == front })]
			hit(p)
			met <- p
		})
		return pass
	})
	defer stop()
	select {
	case p := <-met:
		after(p)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(readyWithin):
		return fmt.Errorf("no sidecar comes to %s of %s within %s", [...]string{asked: "the call", answered: "the reply", heard: "the end"}[m.when], m.script, readyWithin)
	}
}
