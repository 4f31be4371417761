package queue_test

import (
	"net"
	"sync/atomic"
	"testing"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// C103: behind one address another server answers; the connections to the old one, demoted by now, stay open.
func TestConnectionsToADemotedServerAreGivenUp(t *testing.T) {
	old, promoted := newBench(t, nil), newBench(t, nil)
	var upstream atomic.Value
	upstream.Store(old.server.Addr)
	proxy := newProxyTo(t, func() string { return upstream.Load().(string) }, func([]string) string { return forward })
	b := through(t, old, proxy)
	if _, err := b.Claim(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	promoted.ready(t, "a")
	host, port, _ := net.SplitHostPort(promoted.server.Addr)
	old.do(t, "REPLICAOF", host, port)
	upstream.Store(promoted.server.Addr)

	refused := 0
	testenv.Poll(t, patience, "the claim on the promoted server", func() bool {
		c, err := b.Claim(t.Context(), 1)
		if queue.FaultOf(err) == queue.ReadOnly {
			refused++
		}
		return err == nil && len(c.List) == 1
	})
	if refused != 1 {
		t.Errorf("%d claims were refused, want the first one", refused)
	}
}

// The same before Redis 7, where the error of a script hides the word READONLY.
func TestConnectionsToADemotedOldServerAreGivenUp(t *testing.T) {
	old := newFake(t, func(command []string) string {
		switch command[0] {
		case "hello":
			return "-ERR unknown command 'HELLO'\r\n"
		case "evalsha":
			return "-ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against a read only slave.\r\n"
		}
		return "-READONLY You can't write against a read only slave.\r\n"
	})
	b := through(t, newBench(t, nil), old)
	for range 3 {
		if _, err := b.Claim(t.Context(), 1); queue.FaultOf(err) != queue.ReadOnly {
			t.Errorf("got %v, want READONLY", err)
		}
	}
	if n := old.count("evalsha"); n != 3 {
		t.Errorf("%d scripts were sent, want 3", n)
	}
	if n := old.count("zremrangebyrank"); n != 3 {
		t.Errorf("%d plain writes, want one after each refusal", n)
	}
}

// A master that misses its replicas refuses to write, as it was told to (min-replicas-to-write).
func TestAMasterWithoutItsReplicasIsWaitedFor(t *testing.T) {
	b := newBench(t, nil)
	prepare(t, b)
	b.do(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	if _, err := b.Claim(t.Context(), 1); queue.FaultOf(err) != queue.ClusterDown {
		t.Errorf("got %v, want NOREPLICAS", err)
	}
	wantKeys(t, b, prepared())
	b.do(t, "CONFIG", "SET", "min-replicas-to-write", "0")
	if c, err := b.Claim(t.Context(), 1); err != nil || len(c.List) != 1 {
		t.Errorf("with enough of them: %+v, %v", c, err)
	}
}
