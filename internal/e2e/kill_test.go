package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestKilledAgainAndAgainNothingIsLost(t *testing.T) { eachMode(t, killAgainAndAgain) }

func killAgainAndAgain(t *testing.T, mode string) {
	t.Helper()
	jobs, kills := scaledTo(5000, 1000), min(20, 6+2*scale())
	r := newRig(t, 8)
	r.mode = mode
	config := r.config("", "lease = \"3s\"\nretry = [\"200ms\"]")
	r.produce(jobs, 0, 50, 10)

	inHand := make(map[string]bool) // uuids under an open lease when the sidecar was killed
	for range kills {
		p := r.start(config)
		started := r.marked("S")
		eventually(t, 20*time.Second, func() error {
			if r.marked("S") == started {
				return fmt.Errorf("no job starts")
			}
			return nil
		})
		<-time.After(rand.N(250 * time.Millisecond))
		p.kill()
		for _, uuid := range r.running() {
			inHand[uuid] = true
		}
	}
	r.start(config)
	r.wantEmpty(2 * time.Minute)

	ended, twice := r.runs("E"), 0
	if len(ended) != jobs {
		t.Errorf("%d of %d jobs ended: %d are lost", len(ended), jobs, jobs-len(ended))
	}
	for uuid, runs := range ended {
		if runs == 1 {
			continue
		}
		twice++
		if !inHand[uuid] {
			t.Errorf("%s ended %d times although no kill found it under an open lease", uuid, runs)
		}
	}
	t.Logf("%d jobs, %d kills: none lost, %d ran twice, %d had been under an open lease", jobs, kills, twice, len(inHand))
}

// running returns the uuids of the texts in running.
func (r *rig) running() []string {
	r.t.Helper()
	texts, err := r.rdb.ZRange(context.Background(), "delay:running:"+topic, 0, -1).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	uuids := make([]string, 0, len(texts))
	for _, text := range texts {
		var job struct{ UUID string }
		if err := json.Unmarshal([]byte(text), &job); err != nil {
			r.t.Fatal(err)
		}
		uuids = append(uuids, job.UUID)
	}
	return uuids
}
