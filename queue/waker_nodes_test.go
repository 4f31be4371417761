package queue_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"sidecar/internal/testenv"
	"sidecar/queue"
)

// Each node of a Cluster tells of its own keys only, so the Waker listens at all that have a topic.
func TestWakerHearsOfTopicsOnEveryNodeAndFollowsThemAfterAFailover(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, true)
	topics := topicsOnEachNode(c)
	rdb := open(t, queue.RedisOptions{Addrs: c.Addrs()[:1], Cluster: true}, topics...)
	w := startWaker(t, rdb, "", topics...)
	active(t, w, topics...)
	wantHeard := func() {
		t.Helper()
		producer := c.Client() // one that has not seen the node that is dead by now
		for _, topic := range topics {
			for len(w.Topic(topic).Pool) > 0 {
				<-w.Topic(topic).Pool
			}
			if err := producer.ZAdd(t.Context(), "delay:pool:"+topic, redis.Z{Score: 1, Member: "x" + t.Name()}).Err(); err != nil {
				t.Fatal(err)
			}
			wantWake(t, w.Topic(topic).Pool, topic+"'s pool")
			producer.Del(t.Context(), "delay:pool:"+topic)
		}
	}
	wantHeard()

	// The replica of one node takes over.
	dead, heir := c.Nodes[1], c.Replica(1)
	heir.AwaitCopy(dead)
	dead.Kill()
	heir.AwaitLinkDown()
	testenv.Poll(t, patience, "the waker to notice", func() bool { return !w.Active() })
	testenv.Do(t, heir, "CLUSTER", "FAILOVER", "TAKEOVER")
	opts := queue.DefaultOptions()
	opts.Topic = topics[1]
	store := queue.NewStore(rdb, "", opts)
	testenv.Poll(t, patience, "scripts to find the new owner", func() bool {
		_, err := store.Promote(t.Context())
		return err == nil
	})
	testenv.Poll(t, patience, "the waker to listen at the new owner", w.Active)
	wantHeard()
}

// topicsOnEachNode returns one topic for each of the three masters, in their order.
func topicsOnEachNode(c *testenv.RedisCluster) []string {
	topics := make([]string, 3)
	for _, name := range []string{"{a}", "{b}", "{c}", "{d}", "{e}", "{f}", "{g}", "{h}"} {
		topics[c.Home("delay:pool:"+name)] = name
	}
	return topics
}

// After `SENTINEL FAILOVER` the old master lives on, and hears of no job any more.
func TestWakerGoesWhereTheCommandsGo(t *testing.T) {
	t.Parallel()
	s := testenv.SentinelTrio(t)
	rdb := open(t, queue.RedisOptions{Addrs: s.Addrs(), Sentinel: s.Name}, "mail")
	w := startWaker(t, rdb, "", "mail")
	active(t, w, "mail")
	s.Failover()
	s.AwaitPromotion(s.Replica)
	testenv.Poll(t, patience, "the waker to hear of jobs on the new master", func() bool {
		for len(w.Topic("mail").Pool) > 0 {
			<-w.Topic("mail").Pool
		}
		testenv.Do(t, s.Replica, "ZADD", "delay:pool:mail", 1, "x")
		testenv.Do(t, s.Replica, "ZREM", "delay:pool:mail", "x")
		return w.Active() && s.Replica.HasTracking()
	})
	wantWake(t, w.Topic("mail").Pool, "mail's pool")
}
