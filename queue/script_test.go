package queue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// C88: a restart or SCRIPT FLUSH empties the script cache.
func TestMovesGoOnAfterScriptFlush(t *testing.T) {
	server := newBench(t, nil).server
	for verb, move := range moves {
		b := benchOn(server, nil)
		lease := prepare(t, b)
		b.do(t, "SCRIPT", "FLUSH")
		if err := move(t.Context(), b, lease); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// C68: a reply that is cut off leaves it open whether the script ran, so nobody but the caller may send it again.
func TestNoMoveIsRepeatedAfterACutReply(t *testing.T) {
	real := newBench(t, nil)
	for verb, move := range moves {
		t.Run(verb, func(t *testing.T) {
			if err := move(t.Context(), real, prepare(t, real)); err != nil { // now its script is in the cache
				t.Fatal(err)
			}
			lease := prepare(t, real)
			proxy := newProxy(t, real.server.Addr, func(command []string) string {
				if command[0] == "evalsha" || command[0] == "eval" {
					return cutReply
				}
				return forward
			})
			b := through(t, real, proxy)
			if err := move(t.Context(), b, lease); queue.FaultOf(err) != queue.Network {
				t.Errorf("error %v, want a network fault", err)
			}
			if evals := proxy.count("evalsha") + proxy.count("eval"); evals != 1 {
				t.Errorf("the script was sent %d times, want once", evals)
			}
		})
	}
}

// through returns a bench whose Store goes through the fake server, as Open connects it.
func through(t *testing.T, b bench, f *fake) bench {
	t.Helper()
	rdb, err := queue.Open(queue.RedisOptions{URL: "redis://" + f.addr, Protocol: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	o := queue.DefaultOptions()
	o.Topic = "mail"
	b.Store = queue.NewStore(rdb, "", o)
	return b
}

// Once it is sent, a claim is waited for: nobody would hold what it took.
func TestClaimIsNotCutShortByItsContext(t *testing.T) {
	real := newBench(t, nil)
	real.ready(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	proxy := newProxy(t, real.server.Addr, func(command []string) string {
		if command[0] == "evalsha" {
			cancel()
		}
		return forward
	})
	c, err := through(t, real, proxy).Claim(ctx, 1)
	if err != nil && queue.FaultOf(err) != queue.Stopped || err == nil && len(c.List) != 1 {
		t.Fatalf("got %+v, %v", c, err)
	}
	if err != nil && real.leaseOf(t, "a") != "" {
		t.Error("the claim was made, and its reply thrown away")
	}
}

// C90: a foreign script holds Redis up.
func TestBusyIsAFaultThatPasses(t *testing.T) {
	b := newBench(t, nil, "busy-reply-threshold 50")
	b.ready(t, "a")
	foreign := b.server.Client()
	ended := make(chan error, 1)
	go func() { ended <- foreign.Eval(context.WithoutCancel(t.Context()), "while true do end", nil).Err() }()
	testenv.Poll(t, patience, "BUSY", func() bool {
		_, err := b.Claim(t.Context(), 0)
		return queue.FaultOf(err) == queue.Busy
	})
	b.do(t, "SCRIPT", "KILL")
	if err := <-ended; err == nil {
		t.Error("the foreign script came to an end")
	}
	testenv.Poll(t, patience, "the claim", func() bool {
		c, err := b.Claim(t.Context(), 1)
		return err == nil && len(c.List) == 1
	})
}

// C53: two of ours and a legacy scanner promote the same topic, and so do workers of both sides.
func TestScannersBesideTheLegacyOneMoveEachTextOnce(t *testing.T) {
	const texts = 1000
	b := newBench(t, func(o *queue.Options) { o.Batch = 7 })
	other := benchOn(b.server, func(o *queue.Options) { o.Batch = 11 })
	args := []any{"ZADD", b.keys.Pool}
	for i := range texts {
		args = append(args, i, fmt.Sprintf("t%04d", i))
	}
	b.do(t, args...)
	move, legacy := legacyScript(t, "delay_move"), b.server.Client()
	ended := make(chan error, 3)
	for _, s := range []bench{b, other} {
		go func() {
			for {
				p, err := s.Promote(t.Context())
				if err != nil || p.Promoted == 0 {
					ended <- err
					return
				}
			}
		}()
	}
	go func() {
		for {
			n, err := move.Run(t.Context(), legacy, []string{b.keys.Pool, b.keys.Ready}, int64(2e12), 5, 60000).Int()
			if err != nil || n == 0 {
				ended <- err
				return
			}
		}
	}()
	for range 3 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	ready, err := b.rdb.LRange(t.Context(), b.keys.Ready, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ready)
	if distinct := slices.Compact(slices.Clone(ready)); len(ready) != texts || len(distinct) != texts {
		t.Errorf("ready holds %d texts, %d different ones, want %d", len(ready), len(distinct), texts)
	}
}

// Legacy workers and scanners act between any two of our steps.
func TestLegacyStepsBetweenOurs(t *testing.T) {
	pop, reclaim := legacyScript(t, "pop_mark"), legacyScript(t, "reclaim")
	b := newBench(t, nil)

	// A legacy worker claims with a deadline of its host's; ours puts a copy of that text off.
	b.ready(t, "j", "j")
	deadline := fmt.Sprintf("%.0f", b.nowMS(t)+10_000)
	if text, err := pop.Run(t.Context(), b.rdb, []string{b.keys.Ready, b.keys.Running}, deadline).Text(); err != nil || text != "j" {
		t.Fatalf("pop_mark: %q, %v", text, err)
	}
	if c, err := b.Claim(t.Context(), 1); err != nil || c.Twins != 1 {
		t.Fatalf("claim: %+v, %v, want a twin", c, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"j": "10s"}, Running: map[string]string{"j": "10s"}})

	// The legacy scanner reclaims what we hold, its clock being ahead: our failure finds it in the pool.
	b.do(t, "FLUSHALL")
	held := b.claimed(t, "k")[0].Lease
	ahead := fmt.Sprintf("%.0f", b.nowMS(t)+60_000)
	if n, err := reclaim.Run(t.Context(), b.rdb, []string{b.keys.Running, b.keys.Pool}, ahead, 100, 0).Int(); err != nil || n != 1 {
		t.Fatalf("reclaim: %d, %v", n, err)
	}
	if lost, err := b.Renew(t.Context(), []queue.Renewal{{Text: "k", Held: held, Next: b.in(t, 60_000)}}); err != nil || !lost[0] {
		t.Errorf("renew: lost %v, %v, want lost", lost, err)
	}
	if r := settleOne(t, b, "requeue", "k", held, "", false); r.Settlement != queue.Gone {
		t.Errorf("requeue: %s, want gone", r.Settlement)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"k'": "5s"}})

	// The legacy worker ends a text that we claimed after its deadline: only our entry was there.
	b.do(t, "FLUSHALL")
	held = b.claimed(t, "l")[0].Lease
	b.do(t, "ZREM", b.keys.Running, "l")
	if r := settleOne(t, b, "complete", "l", held, "", false); r.Settlement != queue.Gone {
		t.Errorf("complete: %s, want gone", r.Settlement)
	}
	wantKeys(t, b, Keys{})
}
