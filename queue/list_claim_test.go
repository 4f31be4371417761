package queue_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

func TestAListIsClaimedFromTheEndThatItsOrderSays(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.push(t, 0, "a", "b", "c")
	if got := bares(b.claims(t, 2)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("fifo took %q, want the oldest", got)
	}
	wantListKeys(t, b, List{Lists: map[int][]string{0: {"c"}}, Running: map[string]string{"0:a": "30s", "0:b": "30s"}})

	last := listBenchOn(b.server, 0, lifo)
	last.push(t, 0, "d", "e")
	if got := bares(last.claims(t, 2)); !slices.Equal(got, []string{"e", "d"}) {
		t.Errorf("lifo took %q, want the newest", got)
	}
	wantListKeys(t, b, List{
		Lists:   map[int][]string{0: {"c"}},
		Running: map[string]string{"0:a": "30s", "0:b": "30s", "0:d": "30s", "0:e": "30s"},
	})
}

func TestAClaimOfMoreThanThereIsTakesAll(t *testing.T) {
	for _, change := range []func(*queue.Options){nil, lifo} {
		b := newListBench(t, 3, change)
		b.push(t, 0, "a")
		b.push(t, 2, "b", "c", "d", "e", "f", "g")
		c, err := b.Claim(t.Context(), 100)
		if err != nil || len(c.List) != 7 || c.More {
			t.Errorf("claimed %d (more: %v), %v, want all 7 and no more", len(c.List), c.More, err)
		}
		wantListKeys(t, b, List{Running: map[string]string{
			"0:a": "30s", "2:b": "30s", "2:c": "30s", "2:d": "30s", "2:e": "30s", "2:f": "30s", "2:g": "30s",
		}})
	}
}

// C52
func TestEqualTextsOfAListAreTwoJobs(t *testing.T) {
	b := newListBench(t, 2, nil)
	b.push(t, 0, "same", "same")
	b.push(t, 1, "same")
	list := b.claims(t, 5)
	wantListKeys(t, b, List{Running: map[string]string{"0:same": "30s", "0:same×2": "30s", "1:same": "30s"}})
	if len(list) != 3 {
		t.Fatalf("claimed %d, want 3", len(list))
	}
	results, err := b.Complete(t.Context(), completions(list[:1]))
	if err != nil || results[0].Settlement != queue.Settled {
		t.Errorf("complete: %v, %v", results, err)
	}
	if n := b.ask(t, "ZCARD", b.lists.Running); n != 2 {
		t.Errorf("%d in running, want the other two", n)
	}
}

// Whoever asks for one job at a time gets one of each shard in turn.
func TestClaimsOfOneGoRoundTheShards(t *testing.T) {
	b := newListBench(t, 4, nil)
	for shard := range 4 {
		b.push(t, shard, "x", "y", "z")
	}
	for range 3 {
		var round []queue.Claim
		for range 4 {
			round = append(round, b.claims(t, 1)...)
		}
		if n := shardsOf(round); len(n) != 4 {
			t.Errorf("four claims came from %v, want one of each shard", n)
		}
	}
	wantShardsEmpty(t, b)
}

func wantShardsEmpty(t *testing.T, b listBench) {
	t.Helper()
	for _, key := range b.lists.Lists {
		if n := b.ask(t, "EXISTS", key); n != 0 {
			t.Errorf("%s is still there", key)
		}
	}
}

// A list that is a hundred times longer than its fellows gets no more of a claim than they do, as long as they have any.
func TestALongShardLeavesTheOthersTheirShare(t *testing.T) {
	b := newListBench(t, 8, nil)
	for i := range 2000 {
		b.push(t, 3, fmt.Sprint("long ", i))
	}
	for shard := range 8 {
		if shard != 3 {
			for i := range 20 {
				b.push(t, shard, fmt.Sprint("short ", i))
			}
		}
	}
	short := 0
	for range 4 { // 8 shards of 20, and a share of the long one
		n := shardsOf(b.claims(t, 48))
		for shard, jobs := range n {
			if shard != "3" {
				short += jobs
			}
		}
	}
	if short != 140 {
		t.Errorf("%d of the 140 jobs of the short lists came with the first 192, want all", short)
	}
	if n := b.ask(t, "LLEN", b.lists.Lists[3]); n != 2000-52 {
		t.Errorf("the long list holds %d, want what no claim took", n)
	}
}

func TestAClaimEndsAtAMegabyteOfTexts(t *testing.T) {
	for _, change := range []func(*queue.Options){nil, lifo} {
		b := newListBench(t, 2, change)
		for i := range 3 {
			b.push(t, i%2, fmt.Sprint("huge", i)+strings.Repeat("x", 5<<20))
		}
		for i := range 4 {
			b.push(t, 0, fmt.Sprint("half", i)+strings.Repeat("x", 600<<10))
		}
		taken := 0
		for taken < 7 {
			c, err := b.Claim(t.Context(), 48)
			if err != nil || len(c.List) < 1 || len(c.List) > 2 || !c.More {
				t.Fatalf("after %d: took %d texts (more: %v), %v, want one or two", taken, len(c.List), c.More, err)
			}
			taken += len(c.List)
		}
		if c, err := b.Claim(t.Context(), 48); err != nil || len(c.List) != 0 || c.More {
			t.Errorf("at the end: %d (more: %v), %v, want nothing", len(c.List), c.More, err)
		}
	}
}

// A text is claimed byte for byte, whatever it looks like.
func TestAListsTextsMayBeAnything(t *testing.T) {
	b := newListBench(t, 0, nil)
	texts := []string{"", "\n", "3-abc-1\ntext", "12\n", "a\nb\n", "x\x00y", "caf\xe9", "\r\n"}
	b.push(t, 0, texts...)
	if got := bares(b.claims(t, 50)); !slices.Equal(got, texts) {
		t.Errorf("claimed %q, want %q", got, texts)
	}
}

// completerows.lua depends on it, as in profile delay.
func TestLeasesOfAListsClaimsRiseInSteps(t *testing.T) {
	b := newListBench(t, 3, nil)
	for i := range 1500 {
		b.push(t, i%3, strconv.Itoa(i))
	}
	highest := 0.0
	for _, n := range []int{1, 500, 1, 48, 500, 2, 48} {
		for i, claim := range b.claims(t, n) {
			lease, err := strconv.ParseFloat(string(claim.Lease), 64)
			if err != nil || lease <= highest {
				t.Fatalf("claim %d of %d: lease %q behind %f, %v", i, n, claim.Lease, highest, err)
			}
			if i > 0 && (math.Floor(lease) != math.Floor(highest) || lease != highest+1.0/2048) {
				t.Errorf("claim %d of %d: %q comes 1/2048 ms after %f? no", i, n, claim.Lease, highest)
			}
			if got := b.leaseOf(t, claim.Text); got != claim.Lease {
				t.Fatalf("lease is %q, ZSCORE prints %q", claim.Lease, got)
			}
			highest = lease
		}
	}
}

func TestJobsOfAListAreCompletedByTheirLeases(t *testing.T) {
	b := newListBench(t, 2, nil)
	b.push(t, 0, "a", "b", "c")
	b.push(t, 1, "d", "e")
	list := completions(b.claims(t, 5))
	for i := range list {
		list[i].Text = "not even looked at"
	}
	for i, s := range completed(t, b.bench, list[:4]) {
		if s != queue.Settled {
			t.Errorf("job %d is %s, want settled", i, s)
		}
	}
	if n := b.ask(t, "ZCARD", b.lists.Running); n != 1 {
		t.Errorf("%d in running, want the last", n)
	}
}

// No two entries are alike, whichever Store and process made them, and when.
func TestClaimsOfManyStoresAreApart(t *testing.T) {
	b := newListBench(t, 0, nil)
	seen := map[string]bool{}
	for range 5 {
		other := listBenchOn(b.server, 0, nil)
		for range 20 {
			b.push(t, 0, "same", "same")
			for _, c := range append(other.claims(t, 1), b.claims(t, 1)...) {
				if seen[c.Text] {
					t.Fatalf("%q was there before", c.Text)
				}
				seen[c.Text] = true
			}
		}
	}
	if n := b.ask(t, "ZCARD", b.lists.Running); n != 200 {
		t.Errorf("%d in running, want 200", n)
	}
}

func TestAListKeepsItsTimeToLiveAsLongAsItHasTexts(t *testing.T) {
	b := newListBench(t, 0, nil)
	b.push(t, 0, "a", "b", "c")
	b.do(t, "EXPIRE", smsKey, 5000)
	claim := b.claims(t, 2)[0]
	wantTTL := func(when string) {
		t.Helper()
		if ttl := b.rdb.TTL(t.Context(), smsKey).Val(); (ttl - 5000*time.Second).Abs() > tolerance {
			t.Errorf("%s the list lives for %s, want 5000s", when, ttl)
		}
	}
	wantTTL("after a claim")
	requeueList(t, b, queue.Settled, queue.Requeueing{Text: claim.Text, Held: claim.Lease, NewText: "a"})
	wantTTL("after a retry")
}

// A probe finds out whether claiming works, all keys included.
func TestAClaimOfNothingProbesAllKeysOfAList(t *testing.T) {
	b := newListBench(t, 3, nil)
	b.push(t, 1, "a")
	for _, n := range []int{0, -1} {
		if c, err := b.Claim(t.Context(), n); err != nil || len(c.List) != 0 || c.More || c.Now.IsZero() {
			t.Errorf("claim %d: got %+v, %v, want nothing but the time", n, c, err)
		}
	}
	wantListKeys(t, b, List{Lists: map[int][]string{1: {"a"}}})
	for _, key := range []string{b.lists.Running, b.lists.Lists[0], b.lists.Lists[2]} {
		b.do(t, "SET", key, "x")
		if _, err := b.Claim(t.Context(), 0); queue.FaultOf(err) != queue.WrongType || !strings.Contains(err.Error(), key+" is a string") {
			t.Errorf("with %s broken the probe says %v, want WRONGTYPE of it", key, err)
		}
		b.do(t, "DEL", key)
	}
}

// Producers change to shards while the list still holds jobs: who else would take them?
func TestAListThatGetsShardsIsStillTakenFrom(t *testing.T) {
	b := newListBench(t, 2, nil)
	b.do(t, "LPUSH", smsKey, "old", "older")
	b.push(t, 0, "a")
	b.push(t, 1, "b")
	texts := bares(b.claims(t, 10))
	slices.Sort(texts)
	if want := []string{"a", "b", "old", "older"}; !slices.Equal(texts, want) {
		t.Errorf("claimed %q, want %q", texts, want)
	}
	for n := range 8 { // but new ones go to shards only
		if err := b.Push(t.Context(), typedJob(fmt.Sprint("new", n), "sms", 0), 0); err != nil {
			t.Fatal(err)
		}
	}
	if left := b.ask(t, "LLEN", smsKey); left != 0 {
		t.Errorf("%d new jobs in the list without shards", left)
	}
}
