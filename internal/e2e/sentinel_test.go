package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// startSentinels starts Redis under Sentinels with a shop on it.
func startSentinels(t *testing.T) (*rig, *testenv.SentinelSet) {
	t.Helper()
	s := testenv.SentinelTrio(t, "appendonly yes")
	r := newRigOn(t, testenv.FPMOptions{Children: 4}, s.Master)
	return r, s
}

// bySentinels writes a configuration that asks them for the master.
func (r *rig) bySentinels(s *testenv.SentinelSet, topicExtra string) string {
	r.t.Helper()
	return r.through(fmt.Sprintf("addrs = [%s]\nsentinel = %q", quoted(s.Addrs()), s.Name), topicExtra)
}

// produceOn produces jobs of which the replica has every one, and returns their uuids.
func (r *rig) produceOn(s *testenv.SentinelSet, jobs, sleepMS int) []string {
	r.t.Helper()
	var uuids []string
	for _, text := range r.produce(jobs, 0, 0, sleepMS) {
		uuids = append(uuids, jobUUID(r.t, text))
	}
	s.Replica.AwaitCopy(s.Master)
	return uuids
}

// The master is killed under load, after it has acknowledged for a while what its replica does not have.
func TestAKilledMasterCostsOnlyWhatItsReplicaDidNotHave(t *testing.T) {
	t.Parallel()
	const jobs, late = 300, 20
	r, s := startSentinels(t)
	pushed := r.produceOn(s, jobs, 10)
	p := r.start(r.bySentinels(s, "lease = \"3s\"\nretry = [\"200ms\"]"))
	r.wantStarted(100)
	s.Replica.Detach()
	for i := range late { // to the end of a long line: most of them will not have begun
		uuid := fmt.Sprintf("late-%d", i)
		pushed = append(pushed, uuid)
		r.push(fmt.Sprintf(`{"uuid":%q}`, uuid))
	}
	r.wantStarted(r.marked("S") + 50)
	s.Master.Kill()
	r.rdb = s.Replica.Client()
	gone := failover{kept: uuidsOn(t, r.rdb, topic), begun: r.begun("")}
	s.Watch()
	s.AwaitPromotion(s.Replica)

	r.wantEmpty(time.Minute)
	p.wantReady(10 * time.Second)
	_, doubled := r.wantNothingLost(gone, pushed, func(uuid string) bool { return strings.HasPrefix(uuid, "late-") })
	if doubled == 0 {
		t.Error("nothing ran twice: the replica had everything, so this test shows nothing")
	}
	r.wantNoRetries()
	eventually(t, 20*time.Second, func() error {
		if !s.Replica.HasTracking() {
			return fmt.Errorf("the new master is not asked to tell of changes")
		}
		return nil
	})
}

// C73: an operator has the Sentinels promote the replica while jobs are being settled on the old master, which goes on
// taking writes for a moment.
func TestAFailoverOnDemandLosesNoJobAndCountsNoTry(t *testing.T) {
	t.Parallel()
	const jobs = 400
	r, s := startSentinels(t)
	pushed := r.produceOn(s, jobs, 10)
	p := r.start(r.bySentinels(s, "lease = \"3s\"\nretry = [\"200ms\"]"))
	r.wantStarted(100)
	s.Replica.AwaitCopy(s.Master)
	gone := failover{kept: uuidsOn(t, s.Replica.Client(), topic)} // what was not settled by now
	before := calls(t, s.Replica)
	s.Failover()
	s.AwaitPromotion(s.Replica)
	eventually(t, 30*time.Second, func() error {
		if calls(t, s.Replica) == before {
			return fmt.Errorf("the sidecar has not come to the new master yet")
		}
		return nil
	})
	gone.begun = r.runs("S") // what began on the old master
	r.rdb = s.Replica.Client()

	r.wantEmpty(time.Minute)
	p.wantReady(10 * time.Second)
	r.wantNothingLost(gone, pushed, never)
	r.wantNoRetries()
	// Wake-ups come from the new master: with a rare poll only they are this quick.
	eventually(t, 20*time.Second, func() error {
		if !s.Replica.HasTracking() {
			return fmt.Errorf("the new master is not asked to tell of changes")
		}
		return nil
	})
}

func TestVerbsAskSentinelsForTheMaster(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	sentinel := testenv.Sentinel(t, master, "jobs")
	testenv.Do(t, sentinel, "ACL", "SETUSER", "default", "on", ">wrong-secret or not")
	r := newRigOn(t, testenv.FPMOptions{Children: 1}, master)
	file := r.write("sentinel-password", "wrong-secret or not\n")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("addrs = [%q]\nsentinel = \"jobs\"\nsentinel_username = \"default\"\nsentinel_password_file = %q", sentinel.Addr, file)
	config := r.through(table, "")
	r.wantVerbs(config, topic, r.rdb)
	p := r.start(config)
	p.wantReady(10 * time.Second)
}
