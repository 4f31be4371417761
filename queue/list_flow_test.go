package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

// withRetries is a job whose retry_count and max_retry are as written, "" for absent.
func withRetries(count, most string) string {
	text := `{"job_id":"a","type":"sms"`
	if count != "" {
		text += `,"retry_count":` + count
	}
	if most != "" {
		text += `,"max_retry":` + most
	}
	return text + `,"payload":{},"amount":1.0}`
}

// C79: the limit is the job's own, as far as it says a number; otherwise the option's, 3.
func TestAFailingJobOfAListRunsAsOftenAsItAsksFor(t *testing.T) {
	server := testenv.Redis(t)
	for _, test := range []struct {
		count, most string
		runs        int
	}{
		{"0", "0", 1},
		{"0", "3", 4},
		{"0", "", 4},
		{"", "", 4},
		{"0", `"2"`, 3},
		{"0", "2.9", 3},
		{"0", "-1", 1},
		{"0", `"abc"`, 4},
		{"0", "true", 4},
		{"0", "null", 4},
		{`"1"`, "3", 3},
		{`"abc"`, "1", 2},
		{"-5", "1", 2},
		{"2.9", "3", 2},
		{"9", "3", 1},
		{"1e30", "3", 1},
	} {
		t.Run(test.count+" of "+test.most, func(t *testing.T) {
			b := listBenchOn(server, 0, nil)
			b.do(t, "FLUSHALL")
			r := newRuns()
			f := startListFlow(t, b, nil, r.handler(failed))
			b.push(t, 0, withRetries(test.count, test.most))
			eventually(t, "the job to be dead", func() bool { return b.ask(t, "LLEN", b.lists.Dead) > 0 && b.drained(t) })
			f.stop(t)
			texts := r.list()
			if len(texts) != test.runs {
				t.Fatalf("ran %d times, want %d: %q", len(texts), test.runs, texts)
			}
			first, _ := compat.ParseListJob(texts[0])
			for i, text := range texts[1:] {
				want := withRetries(fmt.Sprint(max(first.Tries(), 0)+1+i), test.most)
				if test.count == "" { // appended
					want = strings.Replace(withRetries("", test.most), `1.0}`, fmt.Sprintf(`1.0,"retry_count":%d}`, 1+i), 1)
				}
				if text != want {
					t.Errorf("run %d was of %s, want %s", i+2, text, want)
				}
			}
			wantListKeys(t, b, List{Dead: texts[len(texts)-1:], Reasons: []string{"a: no"}})
		})
	}
}

func TestAJobThatAsksForEverIsNotBuried(t *testing.T) {
	b := newListBench(t, 0, nil)
	r := newRuns()
	startListFlow(t, b, nil, r.handler(failed))
	b.push(t, 0, withRetries("0", "1e30"))
	eventually(t, "many runs", func() bool { return r.count() > 20 })
	if n := b.ask(t, "LLEN", b.lists.Dead); n != 0 {
		t.Error("it is dead")
	}
}

// The last step of the ladder goes on as long as the job asks for more.
func TestAListsLadderSaysWhenAndTheJobHowOften(t *testing.T) {
	ladder := func(o *queue.Options) { o.Retry = []time.Duration{time.Minute, 5 * time.Minute} }
	b := newListBench(t, 2, ladder)
	r := newRuns()
	startListFlow(t, b, ladder, r.handler(failed))
	b.push(t, 1, withRetries("0", "4"))
	for i, delay := range []string{"1m", "5m", "5m", "5m"} {
		eventually(t, "the retry to wait", func() bool { return r.count() == i+1 && b.ask(t, "ZCARD", b.lists.Pool) == 1 })
		wantListKeys(t, b, List{Pool: map[string]string{"1:" + withRetries(fmt.Sprint(i+1), "4"): delay}})
		b.do(t, "ZADD", b.lists.Pool, 1, b.rdb.ZRange(t.Context(), b.lists.Pool, 0, 0).Val()[0])
	}
	eventually(t, "the job to be dead", func() bool { return b.ask(t, "LLEN", b.lists.Dead) == 1 && b.drained(t) })
	wantListKeys(t, b, List{Dead: []string{withRetries("4", "4")}, Reasons: []string{"a: no"}})
}

func TestEveryOtherOutcomeOfAListsJobLeavesTheRightState(t *testing.T) {
	job := withRetries("1", "3")
	crashed := job[:len(job)-1] + `,"crashes":1,"last_error":"killed"}`
	server := testenv.Redis(t)
	for name, test := range map[string]struct {
		outcome compat.Outcome
		text    string
		want    List
	}{
		"done":       {done, job, List{}},
		"deferred":   {compat.Outcome{Verdict: compat.Deferred, Delay: time.Hour}, job, List{Pool: map[string]string{"2:" + job: "1h"}}},
		"crashed":    {compat.Outcome{Verdict: compat.Crashed, Error: "killed"}, job, List{Pool: map[string]string{"2:" + crashed: "*"}}},
		"rejected":   {compat.Outcome{Verdict: compat.Rejected, Error: "never"}, job, List{Dead: []string{job}, Reasons: []string{"a: never"}}},
		"still runs": {compat.Outcome{Verdict: compat.TimedOut, Held: true}, job, List{Running: map[string]string{"2:" + job: "30s"}}},
		"no job":     {done, "no job", List{Dead: []string{"no job"}, Reasons: []string{": not a JSON object: text begins with \"no job\""}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := listBenchOn(server, 3, nil)
			b.do(t, "FLUSHALL")
			r := newRuns()
			f := startListFlow(t, b, nil, r.handler(test.outcome))
			b.push(t, 2, test.text)
			eventually(t, "the end", func() bool {
				return b.ask(t, "LLEN", b.lists.Lists[2]) == 0 && f.consumer.Health().InHand == 0 && (r.count() == 1 || b.ask(t, "LLEN", b.lists.Dead) == 1)
			})
			f.stop(t)
			if name == "no job" { // the reason's wording is compat's
				test.want.Reasons = b.reasons(t)
				if len(test.want.Reasons) != 1 || !strings.Contains(test.want.Reasons[0], "not a JSON object") {
					t.Errorf("reasons %q", test.want.Reasons)
				}
			}
			wantListKeys(t, b, test.want)
		})
	}
}

// crashes counts beside retry_count, and ends a job that kills whoever runs it.
func TestAPoisonJobOfAListEndsInDeadAsItWasLastPopped(t *testing.T) {
	two := func(o *queue.Options) { o.MaxCrashes = 2; o.List.MaxRetry = 0 }
	b := newListBench(t, 0, two)
	const why = `,"last_error":"lease expired: the consumer that ran this job died or lost Redis"}`
	job := withRetries("1", "")
	open := job[:len(job)-1]
	s := b.steps(t, newWire(t, asShipped), b.opts)
	b.push(t, 0, job)
	for crashes := range 3 {
		claims := b.claims(t, 1) // by somebody who dies
		if len(claims) != 1 {
			t.Fatalf("claimed %d", len(claims))
		}
		b.do(t, "ZADD", b.lists.Running, 1000, claims[0].Text)
		if err := s.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if crashes == 2 {
			break
		}
		text := open + fmt.Sprintf(`,"crashes":%d`, crashes+1) + why
		wantListKeys(t, b, List{Pool: map[string]string{"0:" + text: "*"}})
		b.do(t, "ZADD", b.lists.Pool, 1, b.rdb.ZRange(t.Context(), b.lists.Pool, 0, 0).Val()[0])
		if err := s.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantListKeys(t, b, List{Lists: map[int][]string{0: {text}}})
	}
	wantListKeys(t, b, List{
		Dead:    []string{open + `,"crashes":2` + why},
		Reasons: []string{"a: lease expired: the consumer that ran this job died or lost Redis"},
	})
}

// What was claimed without a reply never ran.
func TestAListsClaimWhoseReplyWasLostGoesBackUncounted(t *testing.T) {
	short := func(o *queue.Options) { o.Lease, o.Workers = 600*time.Millisecond, 1 }
	b := newListBench(t, 2, short)
	c := newCutter(t, b.server)
	b.push(t, 0, listJob("warm"))
	r := newRuns()
	release := make(chan struct{})
	through := b
	through.bench = c.behind(t, b.bench, b.opts)
	startListFlow(t, through, nil, func(_ context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		<-release
		return done
	})
	eventually(t, "the first run", func() bool { return r.count() == 1 })
	b.push(t, 1, listJob("a"), listJob("b"))
	c.cut(t, "claimlist", 1, false)
	close(release)
	eventually(t, "both runs", func() bool { return r.of("a") == 1 && r.of("b") == 1 && b.drained(t) })
	if c.made() != 1 {
		t.Errorf("%d replies were cut, want 1", c.made())
	}
	for _, text := range r.list() {
		if strings.Contains(text, "crashes") {
			t.Errorf("ran %s, want no crash counted", text)
		}
	}
	wantListKeys(t, b, List{})
}

// As TestClaimsNotStartedGoBackInTheirOrder.
func TestStoppingGivesAListItsClaimsBackInOrder(t *testing.T) {
	last := `{"job_id":"last","crashes":5,"last_error":"lease expired: x"}`
	for name, test := range map[string]struct {
		change func(*queue.Options)
		want   []string
	}{
		"fifo": {nil, []string{last, listJob("c"), listJob("d"), listJob("e"), listJob("f")}},
		"lifo": {lifo, []string{listJob("c"), listJob("d"), listJob("e"), listJob("f"), last}},
	} {
		b := newListBench(t, 0, test.change)
		r := newRuns()
		release := make(chan struct{})
		f := startListFlow(t, b, func(o *queue.Options) { o.Workers = 5 }, func(_ context.Context, job compat.Job) compat.Outcome {
			defer r.begin(job)()
			<-release
			return done
		})
		b.push(t, 0, listJob("first"))
		eventually(t, "the first run", func() bool { return r.count() == 1 })
		b.push(t, 0, last)
		eventually(t, "the last chance to be claimed", func() bool { return b.ask(t, "ZCARD", b.lists.Running) == 2 })
		b.do(t, "LPUSH", smsKey, listJob("c"), listJob("d"), listJob("e"), listJob("f"))
		eventually(t, "three more claims to be known here", func() bool { return f.consumer.Health().InHand == 5 })
		f.stopTaking()
		eventually(t, "the claims to be back", func() bool { return b.ask(t, "LLEN", smsKey) == 5 })
		close(release)
		f.stop(t)
		t.Log(name)
		wantListKeys(t, b, List{Lists: map[int][]string{0: test.want}})
	}
}

// C53, and the old worker beside them: it pops from the other end, and pushes half of its jobs back as failed.
func TestTwoSidecarsAndTheOldWorkerRunEachJobOnce(t *testing.T) {
	const jobs = 600
	b := newListBench(t, 3, nil)
	for i := range jobs {
		b.push(t, i%3, listJob(fmt.Sprint(i)))
	}
	r := newRuns()
	handle := func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		if job.Tries() == 0 && job.UUID()[0] == '7' {
			return failed
		}
		return done
	}
	startListFlow(t, b, nil, handle)
	startListFlow(t, listBenchOn(b.server, 3, nil), nil, handle)
	old := map[string]int{}
	var worker sync.WaitGroup
	worker.Go(func() {
		client := b.server.Client()
		for {
			got, err := client.BLPop(context.WithoutCancel(t.Context()), time.Second, b.lists.Lists...).Result()
			if err != nil {
				return // nothing is left
			}
			job, _ := compat.ParseListJob(got[1])
			if job.Tries() == 0 && job.UUID()[0] == '3' {
				client.LPush(context.WithoutCancel(t.Context()), got[0], job.WithTries(1).Raw())
				continue
			}
			old[job.UUID()]++
		}
	})
	worker.Wait()
	eventually(t, "all to be done", func() bool { return b.drained(t) })
	for i := range jobs {
		id := fmt.Sprint(i)
		most, least := 1, 1
		if id[0] == '7' { // once more after its failure, here or there
			most = 2
		}
		if n := r.of(id) + old[id]; n < least || n > most {
			t.Errorf("job %s ran %d times here and %d times there", id, r.of(id), old[id])
		}
	}
	wantListKeys(t, b, List{})
}
