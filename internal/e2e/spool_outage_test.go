package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/internal/testenv"
)

// A web shop enqueues all the while that Redis is away, gone or hanging: no request fails, and afterwards each job is in
// its queue once. At full length that is 200 a second and half a minute of outage.
func TestAWebShopEnqueuesThroughAnOutageOfRedis(t *testing.T) {
	for name, away := range map[string]func(r *rig) (back func()){
		"gone":    func(r *rig) func() { r.redis.Stop(); return r.redis.Start },
		"hanging": func(r *rig) func() { return r.redis.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newSpoolRig(t) // not beside the other tests: they keep the disk busy, and a stored job waits for it
			outage, rate := 2*time.Second, 20
			if scale() > 1 {
				outage, rate = 30*time.Second, 50
			}
			shop := r.enqueue(outage+2*time.Second, rate)
			testenv.Poll(t, time.Minute, "the first jobs", func() bool { return r.pooled() > 20 })
			back := away(r)
			timer := time.NewTimer(outage)
			<-timer.C
			back()
			shop.wait()
			r.giveSpoolToFPM()

			inTime := r.pooled()
			config := r.spoolConfig("rate = 0\n")
			out := r.verb(0, config, "spool", "drain", "web")
			if !strings.Contains(out, "0 rows are left") {
				t.Errorf("drained: %s", out)
			}
			members, err := r.rdb.ZRange(t.Context(), "delay:pool:"+topic, 0, -1).Result()
			if err != nil {
				t.Fatal(err)
			}
			shop.report(t, inTime)
			if len(members) != len(shop.waited) {
				t.Errorf("%d jobs in the pool of %d", len(members), len(shop.waited))
			}
			for uuid := range shop.waited {
				in := func(text string) bool { return strings.Contains(text, fmt.Sprintf("%q", uuid)) }
				if n := len(members) - len(slices.DeleteFunc(slices.Clone(members), in)); n != 1 {
					t.Fatalf("%s is in the pool %d times", uuid, n)
				}
			}
		})
	}
}

// pooled counts the jobs in the topic's pool; none while Redis does not say.
func (r *rig) pooled() int64 {
	return r.rdb.ZCard(context.Background(), "delay:pool:"+topic).Val()
}

// webShop is what enqueues, in several requests at once.
type webShop struct {
	wg     sync.WaitGroup
	mu     sync.Mutex
	waited map[string]time.Duration // by uuid
	thrown []string
	fault  error
}

// enqueue has a shop enqueue for so long, rate jobs a second in each of four requests at once.
func (r *rig) enqueue(length time.Duration, rate int) *webShop {
	const shops = 4
	s := &webShop{waited: map[string]time.Duration{}}
	for i := range shops {
		count := int(length.Seconds()) * rate
		cmd := exec.Command("php", "testdata/enqueue.php", r.redisURL, r.spoolFile(), fmt.Sprint("web", i), fmt.Sprint(count), fmt.Sprint(rate))
		s.wg.Go(func() {
			out, err := cmd.CombinedOutput()
			s.add(string(out), err)
		})
	}
	return s
}

// add reads what enqueue.php has written.
func (s *webShop) add(out string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fault = fmt.Errorf("%w: %s", err, out)
	}
	for line := range strings.Lines(out) {
		var uuid, thrown string
		var us int64
		if _, err := fmt.Sscan(line, &uuid, &us, &thrown); err != nil {
			s.fault = fmt.Errorf("%w: %q", err, line)
			return
		}
		s.waited[uuid] = time.Duration(us) * time.Microsecond
		if thrown != "-" {
			s.thrown = append(s.thrown, thrown)
		}
	}
}

func (s *webShop) wait() { s.wg.Wait() }

// report says how the shop fared. How long it waited is only told: the machine may be busy.
func (s *webShop) report(t *testing.T, inTime int64) {
	t.Helper()
	if s.fault != nil {
		t.Fatal(s.fault)
	}
	if len(s.thrown) > 0 {
		t.Errorf("%d of %d requests failed, one by %s", len(s.thrown), len(s.waited), s.thrown[0])
	}
	if inTime == int64(len(s.waited)) {
		t.Error("nothing went by the spool: there was no outage")
	}
	var all []time.Duration
	for _, d := range s.waited {
		all = append(all, d)
	}
	slices.Sort(all)
	t.Logf("%d jobs, %d of them by the spool; an enqueue waited %v in the middle, %v at the 99th percentile, %v at most",
		len(all), int64(len(all))-inTime, all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
}
