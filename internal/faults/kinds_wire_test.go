package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// kindsOfWire are the faults of the way to Redis: whole connections by toxiproxy, single calls by the relay.
func kindsOfWire() []kind {
	return []kind{
		{
			name: "wire-cut", about: "connections cut at any byte of what is sent or answered", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				for range 4 {
					s.spoilFor(ctx, 50*time.Millisecond, "limit_data", s.direction(), map[string]int{"bytes": s.rng.IntN(1 << s.rng.IntN(13))})
				}
				return nil
			},
		},
		{
			name: "wire-reset", about: "connections reset", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				s.spoilFor(ctx, s.away()/4, "reset_peer", s.direction(), map[string]int{"timeout": s.rng.IntN(50)})
				return nil
			},
		},
		{
			name: "wire-refused", about: "no connection is taken, those that were are cut", proxied: true, alone: true,
			strike: refuseConnections,
		},
		{
			name: "wire-latency", about: "every reply 50 to 350 ms late", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				s.spoilFor(ctx, s.away(), "latency", s.direction(), map[string]int{"latency": 200, "jitter": 150})
				return nil
			},
		},
		{
			name: "wire-slices", about: "a few bytes at a time", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				s.spoilFor(ctx, s.away(), "slicer", s.direction(), map[string]int{"average_size": 8, "size_variation": 6, "delay": 50})
				return nil
			},
		},
		{
			name: "wire-silent", about: "what is sent goes nowhere and nobody is told", proxied: true, alone: true,
			strike: func(ctx context.Context, s *shop) error {
				s.spoilFor(ctx, s.away(), "timeout", s.direction(), map[string]int{"timeout": 0})
				return nil
			},
		},
		{
			name: "wire-late", about: "replies later than the client waits (5 s)", proxied: true, alone: true, slow: true,
			strike: func(ctx context.Context, s *shop) error {
				s.spoilFor(ctx, 6*time.Second, "latency", replies, map[string]int{"latency": 5500})
				return nil
			},
		},
		{name: "script-unsent", about: "single calls of each script never arrive", proxied: true, alone: true, strike: cutScripts(asked)},
		{name: "script-reply-lost", about: "single calls of each script run, and their replies are lost", proxied: true, alone: true, strike: cutScripts(answered)},
		{name: "script-reply-late", about: "replies of single calls of each script later than the client waits", proxied: true, alone: true, slow: true, strike: delayScript},
	}
}

// scripts are those that sidecars call while jobs run.
var scripts = []string{"promote", "claim", "renew", "complete", "requeue", "bury", "expired", "claimlist", "promotelist", "requeuelist", "burylist", "takeacks", "keepacks", "dropacks"}

func (s *shop) direction() direction {
	return []direction{requests, replies}[s.rng.IntN(2)]
}

// spoilFor has a toxic at work for d.
func (s *shop) spoilFor(ctx context.Context, d time.Duration, toxic string, what direction, attributes map[string]int) {
	defer s.outage()()
	mend := s.proxy.spoil(ctx, toxic, what, attributes)
	defer mend()
	linger(ctx, d)
}

func refuseConnections(ctx context.Context, s *shop) error {
	defer s.outage()()
	mend := s.proxy.refuse()
	defer mend()
	linger(ctx, s.away())
	return nil
}

// cutScripts cuts some calls of every script at a step, one script after the other, until there was one.
func cutScripts(when step) func(context.Context, *shop) error {
	return func(ctx context.Context, s *shop) error {
		made := 0
		for end := time.Now().Add(readyWithin); made == 0 && time.Now().Before(end) && ctx.Err() == nil; {
			for _, script := range scripts {
				made += s.cutSome(ctx, script, when, 1+s.rng.IntN(4))
			}
		}
		if made == 0 && ctx.Err() == nil {
			return errors.New("no call was cut")
		}
		return nil
	}
}

// cutSome cuts up to n calls of a script and returns how many there were: some scripts are seldom called.
func (s *shop) cutSome(ctx context.Context, script string, when step, n int) int {
	defer s.outage()()
	made, stop := s.proxy.cutCalls(script, when, n)
	defer stop()
	for end := time.Now().Add(150 * time.Millisecond); made() < n && time.Now().Before(end) && ctx.Err() == nil; {
		linger(ctx, 2*time.Millisecond)
	}
	return made()
}

// delayScript holds the replies of a few calls of one script until their callers have given them up.
func delayScript(ctx context.Context, s *shop) error {
	script := scripts[s.rng.IntN(4)] // those that are called all the time
	defer s.outage()()
	reached, release := s.proxy.hold(script, answered, 1+s.rng.IntN(3))
	defer release()
	select {
	case <-reached:
	case <-ctx.Done():
		return nil
	case <-time.After(readyWithin):
		return fmt.Errorf("%s is not called", script)
	}
	linger(ctx, 5500*time.Millisecond)
	return nil
}
