package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"sidecar/queue"
)

// completions are those of claims, told by their leases.
func completions(claims []queue.Claim) []queue.Completion {
	var list []queue.Completion
	for _, c := range claims {
		list = append(list, queue.Completion{Text: c.Text, Held: c.Lease, Sole: c.Sole})
	}
	return list
}

// completed completes list and returns the settlements.
func completed(t *testing.T, b bench, list []queue.Completion) []queue.Settlement {
	t.Helper()
	results, err := b.Complete(t.Context(), list)
	if err != nil || len(results) != len(list) {
		t.Fatalf("%d results of %d, %v", len(results), len(list), err)
	}
	var got []queue.Settlement
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		got = append(got, r.Settlement)
	}
	return got
}

func TestJobsAreCompletedByTheirLeasesAlone(t *testing.T) {
	b := newBench(t, nil)
	claims := slices.Concat(b.claimed(t, "a", "b", "c", "d", "e"), b.claimed(t, "f", "g"))
	list := completions([]queue.Claim{claims[6], claims[0], claims[3], claims[1]})
	for i := range list {
		list[i].Text = "not even looked at"
	}
	if got := completed(t, b, list); slices.ContainsFunc(got, func(s queue.Settlement) bool { return s != queue.Settled }) {
		t.Errorf("got %v, want all settled", got)
	}
	wantKeys(t, b, Keys{Running: map[string]string{"c": "30s", "e": "30s", "f": "30s"}})
}

// Whatever happens to running behind our back, a lease that is not there exactly once removes nothing, and each job
// is settled as if it had been told by its text.
func TestARowThatIsNotWholeIsSettledByTexts(t *testing.T) {
	const ours, gone, lost = queue.Settled, queue.Gone, queue.Lost
	far := "9999999999999.5"
	tests := map[string]struct {
		happens func(b bench, claims []queue.Claim)
		want    []queue.Settlement
		left    map[string]string
	}{
		"one is gone":           {func(b bench, _ []queue.Claim) { b.do(t, "ZREM", b.keys.Running, "b") }, []queue.Settlement{ours, gone, ours}, nil},
		"running is gone":       {func(b bench, _ []queue.Claim) { b.do(t, "DEL", b.keys.Running) }, []queue.Settlement{gone, gone, gone}, nil},
		"one is somebody's":     {func(b bench, _ []queue.Claim) { b.do(t, "ZADD", b.keys.Running, far, "c") }, []queue.Settlement{ours, ours, lost}, map[string]string{"c": "*"}},
		"a stranger among them": {func(b bench, c []queue.Claim) { b.do(t, "ZADD", b.keys.Running, string(c[1].Lease), "x") }, []queue.Settlement{ours, ours, ours}, map[string]string{"x": "30s"}},
		"all are somebody's": {func(b bench, _ []queue.Claim) {
			b.do(t, "ZADD", b.keys.Running, far, "a", far, "b", far, "c")
		}, []queue.Settlement{lost, lost, lost}, map[string]string{"a": "*", "b": "*", "c": "*"}},
	}
	for name, tt := range tests {
		b := newBench(t, nil)
		claims := b.claimed(t, "a", "b", "c")
		tt.happens(b, claims)
		if got := completed(t, b, completions(claims)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
		wantKeys(t, b, Keys{Running: tt.left})
	}
}

func TestRowsAndTextsInOneCallKeepTheirOrder(t *testing.T) {
	b := newBench(t, nil)
	var texts []string
	for i := range 450 {
		texts = append(texts, fmt.Sprint(i))
	}
	list := completions(b.claimed(t, texts...))
	for i := range list {
		switch {
		case i%7 == 0:
			list[i].Sole = false
		case i%5 == 0:
			b.do(t, "ZREM", b.keys.Running, list[i].Text)
		}
	}
	for i, got := range completed(t, b, list) {
		want := queue.Settled
		if i%7 != 0 && i%5 == 0 {
			want = queue.Gone
		}
		if got != want {
			t.Errorf("job %d: got %s, want %s", i, got, want)
		}
	}
	wantKeys(t, b, Keys{})
}

// A mark needs its job's key, and a lease that was renewed is shared by many.
func TestWhatSetsAMarkOrMayBeRenewedIsNamed(t *testing.T) {
	b := newBench(t, func(o *queue.Options) { o.Idempotency = queue.IdempotencyOn })
	list := completions(b.claimed(t, "a", "b"))
	list[0].UUID = "ua"
	list[1].Next = b.in(t, 60_000)
	b.do(t, "ZADD", b.keys.Running, string(list[1].Next), "b")
	if got := completed(t, b, list); !slices.Equal(got, []queue.Settlement{queue.Settled, queue.Settled}) {
		t.Errorf("got %v, want both settled", got)
	}
	wantKeys(t, b, Keys{Marks: map[string]string{"ua": "done"}})
}
