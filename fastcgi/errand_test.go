package fastcgi

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A queue of errands against a plain list.
func TestErrandsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var q errandQueue
	var want []*errand
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		switch random.IntN(8) {
		case 0, 1, 2, 3:
			e := &errand{}
			q.push(e)
			want = append(want, e)
		case 4, 5:
			if len(want) > 0 {
				if got := q.pop(); got != want[0] {
					t.Fatal("not the oldest")
				}
				want = want[1:]
			}
		case 6:
			back := []*errand{{}, {}}
			q.putBack(back)
			want = append(back, want...)
		case 7:
			if len(want) > 0 {
				at := random.IntN(len(want))
				if !q.remove(want[at]) || q.remove(&errand{}) {
					t.Fatal("remove does not know what is there")
				}
				want = slices.Delete(slices.Clone(want), at, at+1)
			}
		}
		if q.len() != len(want) || len(want) > 0 && q.first() != want[0] {
			t.Fatalf("%d errands, want %d", q.len(), len(want))
		}
	}
	if !slices.Equal(q.all(), want) || q.len() != 0 {
		t.Error("all are not all")
	}
}
