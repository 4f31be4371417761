package queue_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"sidecar/queue"
)

func TestClaimTakesTheOldestEachUnderALeaseOfItsOwn(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, "a", "b", "c")
	c, err := b.Claim(t.Context(), 2)
	if err != nil || len(c.List) != 2 || c.List[0].Text != "a" || c.List[1].Text != "b" {
		t.Fatalf("got %+v, %v, want a and b", c, err)
	}
	if c.List[0].Lease == c.List[1].Lease || !c.List[0].Sole || !c.List[1].Sole {
		t.Errorf("got %+v, want a lease for each", c.List)
	}
	for _, claim := range c.List {
		if lease := b.leaseOf(t, claim.Text); lease != claim.Lease {
			t.Errorf("lease of %s is %q, ZSCORE prints %q", claim.Text, claim.Lease, lease)
		}
	}
	end, _ := strconv.ParseFloat(string(c.List[0].Lease), 64)
	if took := end - float64(c.Now)/1000; took < 30_000 || took > 30_000.01 {
		t.Errorf("the lease ends %f ms from now, want 30000", took)
	}
	if end == math.Trunc(end) {
		t.Errorf("lease %s is a whole millisecond, as a renewal's would be", c.List[0].Lease)
	}
	wantKeys(t, b, Keys{Ready: []string{"c"}, Running: map[string]string{"a": "30s", "b": "30s"}})
}

// No two claims have a lease in common, whichever call made them, and no other consumer's whole millisecond lies
// between those of one call: completerows.lua depends on it.
func TestLeasesOfClaimsAreApart(t *testing.T) {
	b := newBench(t, nil)
	var texts []string
	for i := range 4000 {
		texts = append(texts, strconv.Itoa(i))
	}
	b.ready(t, texts...)
	highest := 0.0
	for _, n := range []int{1, 500, 1, 1, 48, 500, 2, 500, 500, 7} {
		c, err := b.Claim(t.Context(), n)
		if err != nil || len(c.List) != n {
			t.Fatalf("claim %d: %d claims, %v", n, len(c.List), err)
		}
		for i, claim := range c.List {
			lease, err := strconv.ParseFloat(string(claim.Lease), 64)
			if err != nil || lease <= highest {
				t.Fatalf("claim %d of %d: lease %q behind %f, %v", i, n, claim.Lease, highest, err)
			}
			if i > 0 && math.Floor(lease) != math.Floor(highest) {
				t.Errorf("claim %d of %d: a whole millisecond lies between %f and %q", i, n, highest, claim.Lease)
			}
			highest = lease
		}
	}
}

func TestClaimOfAnEmptyTopicTakesNothing(t *testing.T) {
	b := newBench(t, nil)
	c, err := b.Claim(t.Context(), 5)
	if err != nil || c.List != nil || c.Now.IsZero() {
		t.Errorf("got %+v, %v, want nothing but the time", c, err)
	}
	wantKeys(t, b, Keys{})
}

func TestClaimOfNothingIsAProbe(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, "a")
	for _, n := range []int{0, -1} {
		if c, err := b.Claim(t.Context(), n); err != nil || len(c.List) != 0 {
			t.Errorf("claim %d: got %+v, %v, want nothing", n, c, err)
		}
	}
	wantKeys(t, b, Keys{Ready: []string{"a"}})
	b.do(t, "SET", b.keys.Running, "x")
	if _, err := b.Claim(t.Context(), 0); queue.FaultOf(err) != queue.WrongType {
		t.Errorf("with a broken key the probe says %v, want WRONGTYPE", err)
	}
}

// C27: whatever lies in ready is claimed, byte for byte.
func TestClaimTakesAnyBytes(t *testing.T) {
	b := newBench(t, nil)
	texts := []string{"", "null", "{\"a\":\"caf\xe9\"}", "x\x00y", "\r\n"}
	for i, claim := range b.claimed(t, texts...) {
		if claim.Text != texts[i] {
			t.Errorf("claimed %q, want %q", claim.Text, texts[i])
		}
	}
}

func TestClaimIsBounded(t *testing.T) {
	b := newBench(t, nil)
	for i := range 700 {
		b.ready(t, strconv.Itoa(i))
	}
	c, err := b.Claim(t.Context(), 700)
	if err != nil || len(c.List) != 500 {
		t.Errorf("claimed %d, %v, want 500", len(c.List), err)
	}
}

// Large texts come a few at a time, or 48 of 20 MB would take a GB of Redis's memory and of ours.
func TestClaimIsBoundedInBytes(t *testing.T) {
	b := newBench(t, nil)
	sized := func(name string, n int) string { return name + strings.Repeat("x", n-len(name)) }
	for i := range 4 {
		b.ready(t, sized(fmt.Sprint("huge", i), 3<<20))
	}
	for i := range 5 {
		b.ready(t, sized(fmt.Sprint("half", i), 600<<10))
	}
	for i := range 60 {
		b.ready(t, fmt.Sprint("small", i))
	}
	for i, want := range []int{1, 1, 1, 1, 2, 2, 48, 13, 0} {
		c, err := b.Claim(t.Context(), 48)
		if err != nil || len(c.List) != want || c.More != (want > 0 && want != 13) {
			t.Errorf("claim %d took %d texts (more: %v), %v, want %d", i, len(c.List), c.More, err, want)
		}
	}
	if n := b.size(t, b.keys.Running); n != 69 {
		t.Errorf("%d in running, want all 69", n)
	}
}

func TestClaimReadsNoMoreOfReadyThanItMayTake(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, strings.Repeat("a", 2<<20))
	for i := range 31 {
		b.ready(t, fmt.Sprint(i)+strings.Repeat("b", 2<<20))
	}
	before := b.luaMemory(t)
	if c, err := b.Claim(t.Context(), 32); err != nil || len(c.List) != 1 {
		t.Fatalf("claimed %d, %v, want 1", len(c.List), err)
	}
	if grown := b.luaMemory(t) - before; grown > 16<<20 {
		t.Errorf("Lua's memory has grown by %d MB for one text of 2 MB", grown>>20)
	}
}

// luaMemory is what the Lua interpreter holds, in bytes.
func (b bench) luaMemory(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(b.rdb.InfoMap(t.Context(), "memory").Val()["Memory"]["used_memory_lua"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestClaimPutsATextOffWhileItsTwinRuns(t *testing.T) {
	b := newBench(t, nil)
	b.claimed(t, "twin")
	b.ready(t, "other", "twin", "last")
	c, err := b.Claim(t.Context(), 3)
	if err != nil || c.Twins != 1 || c.Merged != 0 || len(c.List) != 2 || c.List[0].Text != "other" || c.List[1].Text != "last" {
		t.Fatalf("got %+v, %v, want other and last, one twin", c, err)
	}
	if lease := b.leaseOf(t, "last"); lease != c.List[1].Lease {
		t.Errorf("lease of last is %q, ZSCORE prints %q", c.List[1].Lease, lease)
	}
	wantKeys(t, b, Keys{
		Pool:    map[string]string{"twin": "30s"},
		Running: map[string]string{"twin": "30s", "other": "30s", "last": "30s"},
	})
}

func TestClaimOfATwinAloneTakesNothing(t *testing.T) {
	b := newBench(t, nil)
	b.claimed(t, "twin")
	b.ready(t, "twin")
	c, err := b.Claim(t.Context(), 1)
	if err != nil || c.Twins != 1 || len(c.List) != 0 {
		t.Errorf("got %+v, %v, want one twin and no claim", c, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"twin": "30s"}, Running: map[string]string{"twin": "30s"}})
}

// C51: the same text twice in ready. They run one after the other, and what merges is counted.
func TestClaimTakesTwoCopiesOneAfterTheOther(t *testing.T) {
	b := newBench(t, nil)
	b.ready(t, "twin", "twin", "twin")
	c, err := b.Claim(t.Context(), 3)
	if err != nil || len(c.List) != 1 || c.Twins != 2 || c.Merged != 1 {
		t.Fatalf("got %+v, %v, want one claim, two twins, one of them merged", c, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"twin": "30s"}, Running: map[string]string{"twin": "30s"}})
	if _, err := b.Complete(t.Context(), []queue.Completion{{Text: "twin", Held: c.List[0].Lease}}); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"twin": "30s"}})
}

// An expired twin is not taken over: the scanner counts its crash first.
func TestClaimPutsATextOffWhileItsTwinsLeaseHasEnded(t *testing.T) {
	b := newBench(t, nil)
	b.do(t, "ZADD", b.keys.Running, 1000, "twin")
	b.ready(t, "twin")
	if c, err := b.Claim(t.Context(), 1); err != nil || c.Twins != 1 || len(c.List) != 0 {
		t.Fatalf("got %+v, %v, want one twin and no claim", c, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"twin": "1s"}, Running: map[string]string{"twin": "*"}})
}

func TestClaimPutsATwinOffInThePoolsUnitAndNotForEver(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.ScoreUnit = queue.Seconds })
	b.do(t, "ZADD", b.keys.Running, "+inf", "twin")
	b.ready(t, "twin")
	if c, err := b.Claim(t.Context(), 1); err != nil || c.Twins != 1 {
		t.Fatalf("got %+v, %v, want one twin", c, err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"twin": "30s"}, Running: map[string]string{"twin": "*"}})
}

// C49: the producer adds a text that runs once more; that copy is another job.
func TestCompleteLeavesTheCopyInThePool(t *testing.T) {
	b := newBench(t, nil)
	held := b.claimed(t, "j")[0]
	b.do(t, "ZADD", b.keys.Pool, b.nowMS(t)+60_000, "j")
	if _, err := b.Complete(t.Context(), []queue.Completion{{Text: "j", Held: held.Lease}}); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, b, Keys{Pool: map[string]string{"j": "1m"}})
}
