package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/compat"
	"sidecar/queue"
)

// A consumer stands still for longer than its lease (SIGSTOP, a network that is cut). Another one takes its job back,
// runs it and completes it. The verdict that arrives then is about a job that is done: it must not come back.
func TestAVerdictThatComesAfterItsLeaseBringsNothingBack(t *testing.T) {
	for _, verb := range []string{"requeue", "bury", "complete"} {
		b := newBench(t, nil)
		past := b.in(t, -1000)
		b.do(t, "ZADD", b.keys.Running, string(past), "j")

		taken, _, err := b.Expired(t.Context(), 10)
		if err != nil || len(taken) != 1 {
			t.Fatalf("expired: %v, %v", taken, err)
		}
		b.settled(t, queue.Requeueing{Text: "j", Held: taken[0].Lease, NewText: "j, crashed", Expired: true})
		if _, err := b.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		claims, err := b.Claim(t.Context(), 1)
		if err != nil || len(claims.List) != 1 {
			t.Fatalf("claim: %v, %v", claims, err)
		}
		if r := settleOne(t, b, "complete", "j, crashed", claims.List[0].Lease, "", false); r.Settlement != queue.Settled {
			t.Fatalf("complete: %s", r.Settlement)
		}

		if r := settleOne(t, b, verb, "j", past, "", false); r.Settlement != queue.Gone {
			t.Errorf("%s: %s, want gone", verb, r.Settlement)
		}
		wantKeys(t, b, Keys{})
	}
}

// settled requeues one job and wants it settled.
func (b bench) settled(t *testing.T, r queue.Requeueing) {
	t.Helper()
	results, err := b.Requeue(t.Context(), []queue.Requeueing{r})
	if err != nil || results[0].Settlement != queue.Settled {
		t.Fatalf("requeue: %v, %v", results, err)
	}
}

// A script that stops at one job's error has done those before it: were that not told, they would be offered as if
// nothing had happened, and a record that was replayed meanwhile would be buried a second time.
func TestOneJobsErrorHidesNoOtherJobsResult(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "held")[0].Lease
	gone := b.in(t, 20_000)
	b.do(t, "SET", b.keys.Pool, "x")
	buried, err := b.Bury(t.Context(), []queue.Burial{
		{Text: "held", Held: held, Record: "dead held"},
		{Text: "gone", Held: gone, Record: "dead gone"},
	})
	if err != nil || buried[0].Settlement != queue.Settled || queue.FaultOf(buried[1].Err) != queue.WrongType {
		t.Errorf("bury: %v, %v, want the first settled, the second refused", buried, err)
	}
	wantKeys(t, b, Keys{Dead: []string{"dead held"}})

	b.do(t, "ZADD", b.keys.Running, string(held), "held")
	back, err := b.Requeue(t.Context(), []queue.Requeueing{ // the last one goes first
		{Text: "gone", Held: gone, NewText: "gone", ToReady: true},
		{Text: "held", Held: held, NewText: "held", ToReady: true},
	})
	if err != nil || back[1].Settlement != queue.Settled || queue.FaultOf(back[0].Err) != queue.WrongType {
		t.Errorf("give back: %v, %v, want the last settled, the first refused", back, err)
	}
	wantKeys(t, b, Keys{Ready: []string{"held"}, Dead: []string{"dead held"}})
}

func TestRunningDeletedUnderJobsInHandLosesNone(t *testing.T) {
	b := newBench(t, nil)
	f, r, release, want := startTwenty(t, b)
	b.do(t, "DEL", b.keys.Running)
	close(release)
	eventually(t, "all to be settled", func() bool { return r.count() == 20 && f.consumer.Health().InHand == 0 })
	wantKeys(t, b, want)
	f.wantSum(t, 10, "sidecar_readded_total", "mail")
}

// fullScripts lets the adding half of a settlement say what a server would that is full in the middle of a script,
// as long as the key "full" exists.
func fullScripts(_, source string) string {
	return refuseAdds(source,
		"redis.pcall('ZADD', KEYS[2], (now + delay) / ARGV[2], text)",
		"redis.pcall('LPUSH', KEYS[3], text)",
		"redis.pcall('RPUSH', KEYS[2], record)",
	)
}

// refuseAdds has the adding commands of a script refused as long as the key "full" exists.
func refuseAdds(source string, adds ...string) string {
	full := "(redis.call('EXISTS', 'full') == 1 and {err = \"OOM command not allowed when used memory > 'maxmemory'.\"} or %s)"
	for _, add := range adds {
		source = strings.ReplaceAll(source, add, fmt.Sprintf(full, add))
	}
	return source
}

// A verdict that Redis refuses to add: the claim stays where it was, and the same verdict is offered again, once.
func TestARefusedVerdictStaysAClaimUntilItIsTaken(t *testing.T) {
	tests := map[string]struct {
		outcome compat.Outcome
		action  queue.Action
		key     func(compat.DelayKeys) string // that takes nothing
		want    Keys
	}{
		"a retry": {
			failed, queue.Requeue, func(k compat.DelayKeys) string { return k.Pool },
			Keys{Pool: map[string]string{`{"uuid":"a","retry":1,"last_error":"no"}`: "5s"}},
		},
		"a text that goes back": {
			compat.Outcome{Verdict: compat.Unavailable},
			queue.GiveBack, func(k compat.DelayKeys) string { return k.Ready },
			Keys{Ready: []string{text("a")}},
		},
		"a burial": {
			compat.Outcome{Verdict: compat.Rejected, Error: "never"},
			queue.Bury, func(k compat.DelayKeys) string { return k.Dead },
			Keys{Dead: []string{"*"}},
		},
	}
	for name, test := range tests {
		for _, fault := range []queue.Fault{queue.OOM, queue.WrongType} {
			t.Run(name+" "+fault.String(), func(t *testing.T) {
				b := newBench(t, nil)
				s := b.steps(t, newWire(t, fullScripts), nil)
				b.ready(t, text("a"))
				begun, err := s.Claim(t.Context(), 1)
				if err != nil || len(begun) != 1 {
					t.Fatalf("claim: %v, %v", begun, err)
				}
				broken := "full"
				if fault == queue.WrongType {
					broken = test.key(b.keys)
				}
				b.do(t, "SET", broken, "x")
				s.End(begun[0], test.outcome)
				for range 3 {
					s.Offer(t.Context(), test.action)
				}
				if s.Pending(test.action) != 1 {
					t.Errorf("%d verdicts wait, want 1", s.Pending(test.action))
				}
				wantKeys(t, b, Keys{Running: map[string]string{text("a"): "30s"}})
				b.do(t, "DEL", broken)
				for range 2 {
					s.Offer(t.Context(), test.action)
				}
				if s.Pending(test.action) != 0 {
					t.Errorf("%d verdicts wait, want none", s.Pending(test.action))
				}
				if test.action == queue.Bury {
					test.want.Dead = b.rdb.LRange(t.Context(), b.keys.Dead, 0, 0).Val()
				}
				wantKeys(t, b, test.want)
			})
		}
	}
}

// steps returns the steps of a sidecar on b whose commands go through w.
func (b bench) steps(t *testing.T, w *wire, change func(*queue.Options)) *queue.Steps {
	t.Helper()
	opts := queue.DefaultOptions()
	opts.Topic, opts.Workers = "mail", 1
	if change != nil {
		change(&opts)
	}
	metrics := queue.NewMetrics(prometheus.NewRegistry(), []string{opts.Topic})
	return queue.NewSteps(opts, queue.NewStore(w.client(t, b.server, ""), "", opts), metrics)
}

// A sidecar with much in hand has died, or all of them have: the claims are taken back in calls that are each as
// short as any, and that are no more than they must be. Redis serves the others in between.
func TestTwentyThousandExpiredClaimsAreTakenBackInShortCalls(t *testing.T) {
	const claims, most = 20_000, 200 // jobs in one call
	b := newBench(t, nil)
	past := b.nowMS(t) - 60_000
	for from := 0; from < claims; from += 1000 {
		args := []any{"ZADD", b.keys.Running}
		for i := range 1000 {
			args = append(args, past+float64(from+i), fmt.Sprintf(`{"uuid":"%d"}`, from+i))
		}
		b.do(t, args...)
	}
	w := newWire(t, asShipped)
	s := b.steps(t, w, nil)
	calls := 0
	for b.size(t, b.keys.Running) > 0 {
		w.begin(0, 0)
		if err := s.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(w.calls) < 2 {
			t.Fatalf("%d claims are left and nothing is done", b.size(t, b.keys.Running))
		}
		calls += len(w.calls)
		for _, c := range w.calls {
			if jobs := len(c.args) / 8; jobs > most {
				t.Errorf("%s has %d jobs in one call, want %d at most", c.verb, jobs, most)
			}
		}
	}
	if want := 2 * claims / most; calls > want+2 {
		t.Errorf("%d script calls, want about %d", calls, want)
	}
	if got := b.size(t, b.keys.Pool); got != claims {
		t.Errorf("the pool holds %d jobs, want %d", got, claims)
	}
	counted, err := b.rdb.ZRange(context.WithoutCancel(t.Context()), b.keys.Pool, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range counted {
		if job, err := compat.ParseJob(text); err != nil || job.Crashes() != 1 || job.Tries() != 0 {
			t.Fatalf("%s: %v, want one crash", text, err)
		}
	}
}
