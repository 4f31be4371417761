package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

// requeueList requeues one job and wants it settled so.
func requeueList(t *testing.T, b listBench, want queue.Settlement, r queue.Requeueing) {
	t.Helper()
	results, err := b.Requeue(t.Context(), []queue.Requeueing{r})
	if err != nil || results[0].Err != nil || results[0].Settlement != want {
		t.Errorf("requeue %.40q: %v, %v, want %s", r.Text, results, err, want)
	}
}

// buryList buries one job and wants it settled so.
func buryList(t *testing.T, b listBench, want queue.Settlement, one queue.Burial) {
	t.Helper()
	results, err := b.Bury(t.Context(), []queue.Burial{one})
	if err != nil || results[0].Err != nil || results[0].Settlement != want {
		t.Errorf("bury %.40q: %v, %v, want %s", one.Text, results, err, want)
	}
}

// reasonOf is what stands beside a dead letter.
func reasonOf(id, why string) string {
	return fmt.Sprintf("%040d\n"+`{"list":"queue:test:sms","job_id":%q,"error":%q,"trace":"","at":"2026-01-02 03:04:05"}`, 0, id, why)
}

func TestARetryAtOnceGoesWhereProducersPutTheirs(t *testing.T) {
	b := newListBench(t, 3, nil)
	b.push(t, 2, "a")
	claim := b.claims(t, 1)[0]
	b.push(t, 2, "b")
	requeueList(t, b, queue.Settled, queue.Requeueing{Text: claim.Text, Held: claim.Lease, NewText: "a'"})
	wantListKeys(t, b, List{Lists: map[int][]string{2: {"b", "a'"}}})
}

func TestALaterRetryWaitsInThePoolForItsShard(t *testing.T) {
	b := newListBench(t, 3, nil)
	b.push(t, 2, "a", "a")
	for _, claim := range b.claims(t, 2) {
		requeueList(t, b, queue.Settled, queue.Requeueing{Text: claim.Text, Held: claim.Lease, NewText: "a\n'", Delay: time.Minute})
	}
	wantListKeys(t, b, List{Pool: map[string]string{"2:a\n'": "1m", "2:a\n'×2": "1m"}})
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 0 {
		t.Errorf("promoted %d, %v, want what is not due left", p.Promoted, err)
	}
	for _, z := range b.rdb.ZRange(t.Context(), b.lists.Pool, 0, -1).Val() {
		b.do(t, "ZADD", b.lists.Pool, 1, z)
	}
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 2 || len(p.Due) != 2 || p.Due[0].Text != "a\n'" {
		t.Errorf("promoted %+v, %v, want both, without their ids", p, err)
	}
	wantListKeys(t, b, List{Lists: map[int][]string{2: {"a\n'", "a\n'"}}})
}

func TestTextsGivenBackToAListKeepTheirOrder(t *testing.T) {
	for name, change := range map[string]func(*queue.Options){"fifo": nil, "lifo": lifo} {
		b := newListBench(t, 2, change)
		var want []string
		for i := range 300 { // several calls
			text := fmt.Sprintf("t%03d", i)
			want = append(want, text)
			b.push(t, i%2, text)
		}
		if change != nil {
			slices.Reverse(want)
		}
		var list []queue.Requeueing
		for _, c := range b.claims(t, 300) {
			list = append(list, queue.Requeueing{Text: c.Text, Held: c.Lease, NewText: bare(c.Text), ToReady: true, Delay: time.Hour})
		}
		for range 2 { // the second time the reply of the first was lost
			results, err := b.Requeue(t.Context(), list)
			if err != nil || len(results) != 300 {
				t.Fatalf("%s: %d results, %v", name, len(results), err)
			}
			for i := range list {
				list[i].Expired = true
			}
		}
		var got []string
		for _, c := range b.claims(t, 300) {
			got = append(got, bare(c.Text))
		}
		for shard := range 2 { // between the shards there is no order
			of := func(texts []string) []string {
				return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return int(s[3]-'0')%2 != shard })
			}
			if !slices.Equal(of(got), of(want)) {
				t.Errorf("%s: shard %d comes in the order %v", name, shard, of(got))
			}
		}
	}
}

// What becomes of a claim that is not as it was: DESIGN 4.
func TestAListsClaimThatIsNotOursAnyMoreIsLeftAlone(t *testing.T) {
	b := newListBench(t, 0, nil)
	now := func(ms float64) queue.Lease { return queue.Lease(fmt.Sprintf("%.0f", b.nowMS(t)+ms)) }
	tests := map[string]struct {
		prepare func(entry string, held queue.Lease) queue.Lease // returns the lease to settle under
		expired bool
		want    queue.Settlement
		after   string // where the text lies then: "running", "new" or nowhere
	}{
		"lost": {func(entry string, held queue.Lease) queue.Lease {
			b.do(t, "ZADD", b.lists.Running, string(now(7777)), entry)
			return held
		}, false, queue.Lost, "running"},
		"gone within the lease": {func(entry string, held queue.Lease) queue.Lease {
			b.do(t, "ZREM", b.lists.Running, entry)
			return held
		}, false, queue.Readded, "new"},
		"gone after it": {func(entry string, _ queue.Lease) queue.Lease {
			b.do(t, "ZREM", b.lists.Running, entry)
			return now(-5)
		}, false, queue.Gone, ""},
		"gone, and read by a scanner": {func(entry string, held queue.Lease) queue.Lease {
			b.do(t, "ZREM", b.lists.Running, entry)
			return held
		}, true, queue.Skipped, ""},
	}
	for name, test := range tests {
		for _, verb := range []string{"requeue", "bury"} {
			t.Run(name+" "+verb, func(t *testing.T) {
				b.do(t, "FLUSHALL")
				claim := b.claimOne(t, "a")
				held := test.prepare(claim.Text, claim.Lease)
				want := List{}
				if test.after == "running" {
					want.Running = map[string]string{"0:a": "7777ms"}
				}
				if verb == "requeue" {
					requeueList(t, b, test.want, queue.Requeueing{Text: claim.Text, Held: held, NewText: "b", Expired: test.expired})
					if test.after == "new" {
						want.Lists = map[int][]string{0: {"b"}}
					}
				} else {
					buryList(t, b, test.want, queue.Burial{Text: claim.Text, Held: held, Record: reasonOf("a", "no"), Expired: test.expired})
					if test.after == "new" {
						want.Dead, want.Reasons = []string{"a"}, []string{"a: no"}
					}
				}
				wantListKeys(t, b, want)
			})
		}
	}
}

// Somebody changed shards while jobs were under way: each still has a list to go to.
func TestAJobOfAShardThatIsNoMoreGoesToOneThatIs(t *testing.T) {
	eight := newListBench(t, 8, nil)
	for shard := range 8 {
		eight.push(t, shard, fmt.Sprint("t", shard))
	}
	claims := eight.claims(t, 8)
	for i, shards := range []int{2, 0, 2} { // at once; to the list itself; over the pool
		b := listBenchOn(eight.server, shards, nil)
		delay := time.Duration(i/2) * time.Minute
		for _, c := range claims {
			if shard := c.Text[0]; int(shard-'0')/3 == i {
				requeueList(t, b, queue.Settled, queue.Requeueing{Text: c.Text, Held: c.Lease, NewText: bare(c.Text), Delay: delay})
			}
		}
	}
	b := listBenchOn(eight.server, 2, nil)
	if moved, running, err := b.HandBack(t.Context()); moved != 2 || running != 0 || err != nil {
		t.Errorf("handed back %d, %d run, %v", moved, running, err)
	}
	wantTexts(t, b, 0, "t0", "t6")
	wantTexts(t, b, 1, "t1", "t7")
	plain := listBenchOn(eight.server, 0, nil)
	wantTexts(t, plain, 0, "t2", "t3", "t4", "t5") // of which with shards the list itself is one

	one := plain.claims(t, 1)[0] // and back to shards
	requeueList(t, b, queue.Settled, queue.Requeueing{Text: one.Text, Held: one.Lease, NewText: "back"})
	wantTexts(t, b, 0, "t0", "t6", "back")
}

// wantTexts compares a shard's texts, in any order.
func wantTexts(t *testing.T, b listBench, shard int, want ...string) {
	t.Helper()
	got := b.texts(t, b.lists.Lists[shard])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("shard %d holds %q, want %q", shard, got, want)
	}
}

// Whoever writes into our keys by hand writes texts without a claim's id. They are jobs, too, every byte of them.
func TestAnEntryWithoutAnIDIsAllText(t *testing.T) {
	pretty := "{\n \"job_id\": \"a\",\n \"retry_count\": 0\n}"
	for _, text := range []string{pretty, "{}", "", "7", "7\n8", "-\n8"} {
		b := newListBench(t, 2, nil)
		b.do(t, "ZADD", b.lists.Pool, 1, text)
		if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 1 || p.Due[0].Text != text {
			t.Errorf("%q promoted as %+v, %v", text, p, err)
		}
		if got := bares(b.claims(t, 5)); !slices.Equal(got, []string{text}) {
			t.Errorf("%q is claimed as %q", text, got)
		}
		b.do(t, "FLUSHALL")
		settle := map[string]func(){
			"give back": func() {
				requeueList(t, b, queue.Settled, queue.Requeueing{Text: text, Held: "1000", NewText: text, ToReady: true, Expired: true})
				wantListKeys(t, b, List{Lists: map[int][]string{0: {text}}})
			},
			"a delay": func() {
				requeueList(t, b, queue.Settled, queue.Requeueing{Text: text, Held: "1000", NewText: text, Delay: time.Minute, Expired: true})
				wantListKeys(t, b, List{Pool: map[string]string{text: "1m"}})
			},
			"bury": func() {
				buryList(t, b, queue.Settled, queue.Burial{Text: text, Held: "1000", Record: reasonOf("a", "no"), Expired: true})
				wantListKeys(t, b, List{Dead: []string{text}, Reasons: []string{"a: no"}})
			},
		}
		for _, how := range settle {
			b.do(t, "ZADD", b.lists.Running, 1000, text)
			how()
			b.do(t, "FLUSHALL")
		}
	}
}

func TestADeadLetterIsTheTextAsItWasPopped(t *testing.T) {
	b := newListBench(t, 0, nil)
	var want []string
	for _, text := range []string{"", "\n", "3-abc-1\ntext", "a\nb", "x\x00y", "caf\xe9", strings.Repeat("5 MB", 5<<18)} {
		claim := b.claimOne(t, text)
		buryList(t, b, queue.Settled, queue.Burial{Text: claim.Text, Held: claim.Lease, Record: reasonOf("a", "no")})
		want = append([]string{text}, want...)
	}
	wantListKeys(t, b, List{Dead: want, Reasons: slices.Repeat([]string{"a: no"}, len(want))})
}

func TestOnlySoManyReasonsAreKept(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.do(t, "EVAL", "for i = 1, 12000 do redis.call('RPUSH', KEYS[1], i) end", 1, b.lists.Reasons)
	claim := b.claimOne(t, "a")
	buryList(t, b, queue.Settled, queue.Burial{Text: claim.Text, Held: claim.Lease, Record: reasonOf("a", "no")})
	list := b.texts(t, b.lists.Reasons)
	if len(list) != 10_000 || list[0] != reasonOf("a", "no") || list[9999] != "9999" {
		t.Errorf("%d reasons, from %q to %q, want the last 10,000", len(list), list[0], list[len(list)-1])
	}
}

func TestAReasonThatIsRefusedKeepsNoJob(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.do(t, "SET", b.lists.Reasons, "x")
	claim := b.claimOne(t, "a")
	buryList(t, b, queue.Settled, queue.Burial{Text: claim.Text, Held: claim.Lease, Record: reasonOf("a", "no")})
	wantListKeys(t, b, List{Dead: []string{"a"}})
	if _, err := b.Dead(t.Context(), 1); queue.FaultOf(err) != queue.WrongType || !strings.Contains(err.Error(), b.lists.Reasons+" is a string") {
		t.Errorf("dead says %v, want which key it is", err)
	}
}

func TestAShardNumberBeyondAllNumbersHoldsNothingUp(t *testing.T) {
	b := newListBench(t, 2, nil)
	absurd := strings.Repeat("9", 400) + "-tampered\n"
	b.do(t, "ZADD", b.lists.Pool, 1, absurd+"a", 2, "1-x\nb")
	if p, err := b.Promote(t.Context()); err != nil || p.Promoted != 2 {
		t.Fatalf("promoted %d, %v, want 2", p.Promoted, err)
	}
	b.do(t, "ZADD", b.lists.Running, 1, absurd+"c")
	results, err := b.Requeue(t.Context(), []queue.Requeueing{{Text: absurd + "c", Held: "1", NewText: "c"}})
	if err != nil || results[0].Settlement != queue.Settled {
		t.Fatalf("requeued: %v, %v", results, err)
	}
	if n := b.do(t, "LLEN", b.lists.Lists[0]).(int64) + b.do(t, "LLEN", b.lists.Lists[1]).(int64); n != 3 {
		t.Errorf("%d texts in the lists, want 3", n)
	}
}
