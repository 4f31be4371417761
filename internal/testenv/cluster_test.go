package testenv_test

import (
	"testing"

	"sidecar/internal/testenv"
)

func TestClusterKeepsEachKeyOnTheNodeThatHasItsSlot(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, false)
	rdb := c.Client()
	homes := map[int]string{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		homes[c.Home(key)] = key
		if err := rdb.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n := c.Nodes[c.Home(key)].Client().Exists(t.Context(), key).Val(); n != 1 {
			t.Errorf("%s is not on its node", key)
		}
	}
	if len(homes) != 3 {
		t.Errorf("keys lie on nodes %v, want some on each", homes)
	}
	from, to := c.Home("a"), (c.Home("a")+1)%3
	move := c.Move("a", from, to)
	moved := 0
	move.Keys(func(string) { moved++ })
	move.Finish()
	if got := c.Nodes[to].Client().Get(t.Context(), "a").Val(); got != "v" || moved != 1 {
		t.Errorf("after %d moves the new node has a = %q", moved, got)
	}
	if got := rdb.Get(t.Context(), "a").Val(); got != "v" {
		t.Errorf("a = %q by the cluster", got)
	}
}

func TestClusterWithReplicasCopiesEveryKey(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, true)
	key := "a"
	if err := c.Client().Set(t.Context(), key, "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	home := c.Home(key)
	c.Replica(home).AwaitCopy(c.Nodes[home])
	c.Nodes[home].Kill()
	c.Replica(home).AwaitLinkDown()
	testenv.Do(t, c.Replica(home), "CLUSTER", "FAILOVER", "TAKEOVER")
	testenv.Poll(t, startPatience, "the replica to serve", c.Replica(home).IsMaster)
}
