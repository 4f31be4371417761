package testenv_test

import (
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// startPatience is for servers on a busy machine.
const startPatience = 30 * time.Second

func TestSentinelsPromoteTheReplicaOfADeadMaster(t *testing.T) {
	t.Parallel()
	s := testenv.SentinelTrio(t)
	testenv.Do(t, s.Master, "SET", "k", "replicated")
	s.Replica.AwaitCopy(s.Master)
	s.Replica.Detach()
	testenv.Do(t, s.Master, "SET", "k", "acknowledged, and forgotten")
	s.Master.Kill()
	s.Watch()
	s.AwaitPromotion(s.Replica)
	if got := testenv.Do(t, s.Replica, "GET", "k"); got != "replicated" {
		t.Errorf("the promoted server has %q", got)
	}
}

func TestSentinelsFailALivingMasterOver(t *testing.T) {
	t.Parallel()
	s := testenv.SentinelTrio(t)
	s.Failover()
	s.AwaitPromotion(s.Replica)
	testenv.Poll(t, startPatience, "the old master to follow", func() bool { return !s.Master.IsMaster() })
	if len(s.Addrs()) != 3 {
		t.Errorf("%d Sentinels, want 3", len(s.Addrs()))
	}
}
