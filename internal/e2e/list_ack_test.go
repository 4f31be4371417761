package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// ackOf returns what the ack of a job says and how long it will; "" when there is none.
func (r *rig) ackOf(id string) (says string, left time.Duration) {
	r.t.Helper()
	ctx := context.Background()
	return r.rdb.Get(ctx, "ack:"+id).Val(), r.rdb.TTL(ctx, "ack:"+id).Val()
}

// The old worker sets an ack before the work, and leaves it when the job fails: then it throws its own retry away,
// and everybody's for an hour. With idempotency on such an ack delays the job by a lease at most, and then it runs.
func TestAnAckThatTheOldWorkersFailureLeftDelaysAJobByALeaseAtMost(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	r := newListRig(t, 2)
	r.lpush(smsKey, smsJob("failed there", ""), smsJob("died there", ""))
	// Last in, first out: this one first, and the other is in no key any more.
	left := time.Now()
	r.startOldWorker(r.redis.Socket, "--ack=1", "--handler=suicide:100").wantEnd(t, 20*time.Second)
	r.startOldWorker(r.redis.Socket, "--ack=1", "--handler=fail", "--max-jobs=1").wantEnd(t, 20*time.Second)
	r.lpush(smsKey, smsJob("died there", "")) // a careful producer sends it again
	for _, id := range []string{"failed there", "died there"} {
		if says, _ := r.ackOf(id); says != "processing" {
			t.Fatalf("the old worker has left %q, want its ack", says)
		}
	}
	if d := r.listDepths(); d.list != 2 {
		t.Fatalf("keys hold %+v, want both jobs in the list", d)
	}

	p := r.start(r.smsConfig(`idempotency = "on"`))
	p.wantReady(20 * time.Second)
	began := time.Now()
	r.lpush(smsKey, smsJob("fresh", ""))
	eventually(t, 20*time.Second, func() error {
		if len(r.order("E")) == 0 {
			return fmt.Errorf("nothing runs")
		}
		return nil
	})
	if got := r.order("E"); got[0] != "fresh" && time.Since(left) < lease { // else the acks were old before it could
		t.Errorf("ended %v: what waits for an ack holds up others", got)
	}
	r.wantRuns("E", 3, 30*time.Second)
	t.Logf("both ran within %s", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > lease+10*time.Second { // generous: the machine may be busy
		t.Errorf("they ran after %s, want no more than a lease of %s", took, lease)
	}
	r.wantDepths(listDepths{}, 10*time.Second)
	for id, n := range r.runs("S") {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
		if says, left := r.ackOf(id); says != "done" || left <= 0 {
			t.Errorf("the ack of %s says %q for %s, want done, for a time", id, says, left)
		}
	}
}

// What is done is not done again, whoever asks for it, and that is no loss.
func TestADuplicateOfADoneJobIsCompletedUnrun(t *testing.T) {
	t.Parallel()
	r := newListRig(t, 2)
	p := r.start(r.smsConfig(`idempotency = "on"`))
	text := smsJob("once", "")
	r.lpush(smsKey, text)
	r.wantRuns("E", 1, 20*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
	r.lpush(smsKey, text, text, strings.Replace(text, `"retry_count":0`, `"retry_count":2`, 1), smsJob("another", ""))
	r.wantRuns("E", 2, 20*time.Second)
	r.wantDepths(listDepths{}, 10*time.Second)
	if got, want := r.order("S"), []string{"once", "another"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, want %v", got, want)
	}
	p.wantMetric(`sidecar_done_before_total{topic="send_sms"}`, 3)
}

// The old worker throws away what has an ack. A retry of ours must not have one any more when that worker can see it,
// be it at once or after a while, nor must a job that comes back from a sidecar that was killed.
func TestNoRetryOfOursIsThrownAwayByTheOldWorker(t *testing.T) {
	for name, test := range map[string]struct {
		mode, retry string
		kill        bool
	}{
		"at once":                  {"request", "0s", false},
		"at once, of workers":      {"worker", "0s", false},
		"later, after a kill, too": {"worker", "50ms", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobs := scaled(200)
			r := newListRig(t, 4)
			r.mode = test.mode
			config := r.smsConfig(fmt.Sprintf("idempotency = \"on\"\nmax_crashes = 1000\nretry = [%q]", test.retry))
			p := r.start(config)
			p.wantReady(20 * time.Second)
			r.startOldWorker(r.redis.Socket, "--ack=1", "--handler=usleep:2000")
			r.lpush(smsKey, smsJobs("j", jobs, `"sleep_ms":4,"fail_once":true`)...)
			if test.kill {
				eventually(t, 20*time.Second, func() error {
					if n := len(r.order("S")); n < jobs/10 {
						return fmt.Errorf("%d runs", n)
					}
					return nil
				})
				p.kill()
				r.start(config)
			}
			eventually(t, time.Minute, func() error {
				done := legacyRuns(t, r.oldLogs())
				for id := range r.runs("E") {
					done[id]++
				}
				if d := r.listDepths(); len(done) != jobs || d != (listDepths{}) {
					return fmt.Errorf("%d of %d jobs were done by one or the other, keys hold %+v", len(done), jobs, d)
				}
				return nil
			})
			t.Logf("%d runs here, %d jobs done here, %d there", len(r.order("S")), r.marked("E"), len(legacyRuns(t, r.oldLogs())))
		})
	}
}
