package queue_test

import (
	"context"
	"testing"
	"time"

	"sidecar/compat"
	"sidecar/internal/testenv"
	"sidecar/queue"
)

const (
	ackLife = 3600_000 // ms, what an ack is kept for by everybody
	doneFor = 86400_000
)

// ack writes an ack that is kept for so many ms more, 0 for ever.
func (b listBench) ack(t *testing.T, id, says string, left int) {
	t.Helper()
	b.do(t, "SET", b.lists.Ack(id), says)
	if left > 0 {
		b.do(t, "PEXPIRE", b.lists.Ack(id), left)
	}
}

// wantAck compares how long an ack is kept, in ms; -1 is for ever.
func (b listBench) wantAck(t *testing.T, id string, left int64) {
	t.Helper()
	if got := b.ask(t, "PTTL", b.lists.Ack(id)); got-left > 2000 || left-got > 2000 {
		t.Errorf("the ack of %s is kept for %d ms, want %d", id, got, left)
	}
}

func TestAJobRunsUnlessSomebodyIsOnItOrItIsDone(t *testing.T) {
	b := newListBench(t, 0, acked) // under a lease of 30 s
	free, isDone := queue.Standing{}, queue.Standing{Done: true}
	soon := func(s int) queue.Standing { return queue.Standing{Wait: time.Duration(s) * time.Second} }
	tests := map[string]struct {
		prepare func(id string)
		want    queue.Standing
		says    string // afterwards
		left    int64
	}{
		"nobody is":                     {func(string) {}, free, "ours", ackLife},
		"we are":                        {func(id string) { b.ack(t, id, "processing 0-"+id, ackLife-20_000) }, free, "ours", ackLife},
		"the old worker is":             {func(id string) { b.ack(t, id, "processing", ackLife) }, soon(30), "processing", ackLife},
		"the old worker is, for a time": {func(id string) { b.ack(t, id, "processing", ackLife-10_000) }, soon(20), "processing", ackLife - 10_000},
		"the old worker has failed":     {func(id string) { b.ack(t, id, "processing", ackLife-31_000) }, free, "ours", ackLife},
		"an ack that is kept for ever":  {func(id string) { b.ack(t, id, "processing", 0) }, soon(30), "processing", ackLife},
		"an ack that is kept for a day": {func(id string) { b.ack(t, id, "processing", doneFor) }, soon(30), "processing", ackLife},
		"an ack that has long to go":    {func(id string) { b.ack(t, id, "1", 5000) }, free, "ours", ackLife},
		"another claim":                 {func(id string) { b.ack(t, id, "processing 0-else", ackLife) }, soon(30), "ours", ackLife},
		"another claim that has died":   {func(id string) { b.ack(t, id, "processing 0-else", ackLife-40_000) }, free, "ours", ackLife},
		"it is done":                    {func(id string) { b.ack(t, id, "done", doneFor) }, isDone, "done", doneFor},
		"it was done a while ago":       {func(id string) { b.ack(t, id, "done", 50_000) }, isDone, "done", 50_000},
		"it is done for ever":           {func(id string) { b.ack(t, id, "done", 0) }, isDone, "done", -1},
		"a list":                        {func(id string) { b.do(t, "RPUSH", b.lists.Ack(id), "done") }, soon(30), "", ackLife},
		"an old list": {func(id string) {
			b.do(t, "RPUSH", b.lists.Ack(id), "done")
			b.do(t, "PEXPIRE", b.lists.Ack(id), ackLife-31_000)
		}, free, "ours", ackLife},
	}
	var list []queue.Ack
	var names []string
	for name, test := range tests {
		test.prepare(name)
		names = append(names, name)
		list = append(list, queue.Ack{UUID: name, Text: compat.JoinClaim(0, name, "x")}, queue.Ack{Text: "no id, no ack"})
	}
	got, err := b.TakeAcks(t.Context(), list)
	if err != nil || len(got) != len(list) {
		t.Fatalf("%d of %d, %v", len(got), len(list), err)
	}
	says := map[string]string{}
	for i, name := range names {
		want := tests[name].want
		if s := got[2*i]; s.Done != want.Done || (s.Wait-want.Wait).Abs() > tolerance || (s.Wait > 0) != (want.Wait > 0) {
			t.Errorf("%s: %+v, want %+v", name, s, want)
		}
		if got[2*i+1] != free {
			t.Errorf("a job without an id: %+v", got[2*i+1])
		}
		says[name] = tests[name].says
		b.wantAck(t, name, tests[name].left)
	}
	wantListKeys(t, b, List{Acks: says})
}

func TestWithoutIdempotencyNoAckIsTouched(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.ack(t, "a", "processing", ackLife)
	r := newRuns()
	startListFlow(t, b, nil, r.handler(done))
	b.push(t, 0, listJob("a"), listJob("b"))
	eventually(t, "both runs", func() bool { return r.count() == 2 && b.drained(t) })
	wantListKeys(t, b, List{Acks: map[string]string{"a": "processing"}})
}

func TestARenewalKeepsOnlyAClaimsOwnAckYoung(t *testing.T) {
	b := newListBench(t, 0, acked)
	s := b.steps(t, newWire(t, asShipped), b.opts)
	ids := []string{"mine", "done", "taken", "gone"}
	for _, id := range ids {
		b.push(t, 0, listJob(id))
	}
	if begun, err := s.Claim(t.Context(), 4); err != nil || len(begun) != 4 {
		t.Fatalf("claimed %d, %v", len(begun), err)
	}
	b.do(t, "PEXPIRE", b.lists.Ack("mine"), ackLife-25_000)
	b.ack(t, "done", "done", doneFor)
	b.ack(t, "taken", "processing 0-else", ackLife-25_000)
	b.do(t, "DEL", b.lists.Ack("gone"))
	if err := s.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantAck(t, "mine", ackLife)
	b.wantAck(t, "done", doneFor)
	b.wantAck(t, "taken", ackLife-25_000)
	b.wantAck(t, "gone", -2)
}

// A run that takes many leases is not begun a second time, whoever asks.
func TestALongRunKeepsOthersOffTheSameJob(t *testing.T) {
	short := func(o *queue.Options) { acked(o); o.Lease, o.Workers = 600*time.Millisecond, 2 }
	b := newListBench(t, 0, short)
	r := newRuns()
	f := startListFlow(t, b, short, func(ctx context.Context, job compat.Job) compat.Outcome {
		defer r.begin(job)()
		wait(ctx, 2*time.Second)
		return done
	})
	b.push(t, 0, listJob("a"), listJob("a")+" ", listJob("a")) // C51
	eventually(t, "all to be settled", func() bool { return r.count() > 0 && b.drained(t) })
	if r.count() != 1 {
		t.Errorf("ran %d times, want once", r.count())
	}
	f.wantSum(t, 2, "sidecar_done_before_total")
	b.wantAck(t, "a", doneFor)
	wantListKeys(t, b, List{Acks: map[string]string{"a": "done"}})
}

func TestACompletedJobOfAListIsDoneWhoeverHoldsItsLease(t *testing.T) {
	for _, state := range []string{"held", "lost", "gone"} {
		b := newListBench(t, 0, acked)
		claim := b.claimOne(t, "j")
		want := List{Acks: map[string]string{"u": "done"}}
		switch state {
		case "lost":
			b.do(t, "ZADD", b.lists.Running, b.nowMS(t)+5000, claim.Text)
			want.Running = map[string]string{"0:j": "5s"}
		case "gone":
			b.do(t, "ZREM", b.lists.Running, claim.Text)
		}
		if _, err := b.Complete(t.Context(), []queue.Completion{{Text: claim.Text, Held: claim.Lease, UUID: "u", Sole: true}}); err != nil {
			t.Error(err)
		}
		wantListKeys(t, b, want)
		b.wantAck(t, "u", doneFor)
	}
}

// What another claim says, or the old worker, or that a job is done, is not ours to take back.
func TestOnlyAClaimsOwnAckIsDropped(t *testing.T) {
	for _, verb := range []string{"requeue", "bury"} {
		b := newListBench(t, 0, acked)
		claim := b.claimOne(t, "j")
		id, _ := compat.SplitClaim(claim.Text)
		acks := map[string]string{"mine": "processing " + id, "else": "processing 0-else", "old": "processing", "done": "done"}
		for uuid, says := range acks {
			b.ack(t, uuid, says, ackLife)
			switch verb {
			case "requeue":
				_, err := b.Requeue(t.Context(), []queue.Requeueing{{Text: claim.Text, Held: "1", NewText: "x", UUID: uuid}})
				if err != nil {
					t.Error(err)
				}
			case "bury":
				if _, err := b.Bury(t.Context(), []queue.Burial{{Text: claim.Text, Held: "1", UUID: uuid}}); err != nil {
					t.Error(err)
				}
			}
		}
		wantListKeys(t, b, List{
			Running: map[string]string{"0:j": "30s"},
			Acks:    map[string]string{"else": "ours", "old": "processing", "done": "done"},
		})
	}
}

// seenWithAck counts, in the key "seen", the moves that would let others see a text while the ack of job "a" exists.
func seenWithAck(verb, source string) string {
	switch verb {
	case "requeuelist", "promotelist", "burylist":
		return "if redis.call('EXISTS', 'ack:a') == 1 then redis.call('INCR', 'seen') end " + source
	}
	return source
}

// The old worker throws away what has an ack: at no moment may a text of ours lie in a list and still have one.
func TestNoTextIsInAListWhileOurAckExists(t *testing.T) {
	server := testenv.Redis(t)
	later := func(o *queue.Options) { acked(o); o.Retry = []time.Duration{time.Hour} }
	for name, test := range map[string]struct {
		change  func(*queue.Options)
		outcome compat.Outcome
		action  queue.Action
	}{
		"a retry":     {acked, failed, queue.Requeue},
		"a delay":     {later, failed, queue.Requeue},
		"a deferral":  {acked, compat.Outcome{Verdict: compat.Deferred}, queue.Requeue},
		"a crash":     {acked, compat.Outcome{Verdict: compat.Crashed}, queue.Requeue},
		"a give-back": {acked, compat.Outcome{Verdict: compat.Unavailable}, queue.GiveBack},
		"a burial":    {acked, compat.Outcome{Verdict: compat.Rejected}, queue.Bury},
		"an expiry":   {acked, compat.Outcome{Verdict: compat.TimedOut, Held: true}, queue.Leave},
	} {
		b := listBenchOn(server, 0, test.change)
		b.do(t, "FLUSHALL")
		s := b.steps(t, newWire(t, seenWithAck), b.opts)
		b.push(t, 0, listJob("a"))
		begun, err := s.Claim(t.Context(), 1)
		if err != nil || len(begun) != 1 {
			t.Fatalf("%s: claim: %v, %v", name, begun, err)
		}
		b.wantAck(t, "a", ackLife)
		s.End(begun[0], test.outcome)
		if test.action == queue.Leave {
			b.do(t, "ZADD", b.lists.Running, 1000, begun[0].Text())
			if err := s.Expire(t.Context()); err != nil {
				t.Error(err)
			}
		} else {
			s.Offer(t.Context(), test.action)
		}
		if err := s.Promote(t.Context()); err != nil {
			t.Error(err)
		}
		if n := b.ask(t, "ZCARD", b.lists.Running); n != 0 {
			t.Errorf("%s: %d in running, want it settled", name, n)
		}
		if n := b.ask(t, "GET", "seen"); n != 0 {
			t.Errorf("%s: %d moves found the ack still there", name, n)
		}
	}
}

func TestHandBackTakesAcksBackFirst(t *testing.T) {
	b := newListBench(t, 0, acked)
	claim := b.claimOne(t, listJob("a"))
	if _, err := b.TakeAcks(t.Context(), []queue.Ack{{UUID: "a", Text: claim.Text}}); err != nil {
		t.Fatal(err)
	}
	b.do(t, "ZADD", b.lists.Running, 1000, claim.Text)
	wire := newWire(t, func(verb, source string) string {
		if verb == "promotelist" { // there is nothing to promote
			return source
		}
		return seenWithAck(verb, source)
	})
	opts := queue.DefaultOptions()
	opts.Topic = "mail"
	b.opts(&opts)
	store := queue.NewStore(wire.client(t, b.server, ""), "", opts)
	if moved, running, err := store.HandBack(t.Context()); moved != 1 || running != 0 || err != nil {
		t.Errorf("moved %d, %d run, %v", moved, running, err)
	}
	wantListKeys(t, b, List{Lists: map[int][]string{0: {listJob("a")}}})
	if n := b.ask(t, "GET", "seen"); n != 0 {
		t.Error("the ack was still there when the text was back")
	}
}
