package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

// numbered are n short jobs.
func numbered(from, n int) (texts []any) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(`{"uuid":"n%d"}`, from+i))
	}
	return texts
}

// Lists that move while they are searched: what stays is found, and, as long as the list can tell where it was, once.
func TestASearchOfAMovingListPassesNothingOver(t *testing.T) {
	const n = 3000
	in := func(many int) func(t *testing.T, b bench, step int) {
		return func(t *testing.T, b bench, step int) {
			if step < 60 {
				b.do(t, append([]any{"RPUSH", b.keys.Ready}, numbered(n+step*many, many)...)...)
			}
		}
	}
	do := func(args ...any) func(t *testing.T, b bench, _ int) {
		return func(t *testing.T, b bench, _ int) { b.do(t, slices.Insert(args, 1, any(b.keys.Ready))...) }
	}
	for name, test := range map[string]struct {
		oldest    bool
		meanwhile func(t *testing.T, b bench, step int)
	}{
		"a few come in":             {meanwhile: in(7)},
		"many come in":              {meanwhile: in(300)},
		"more than a step come in":  {meanwhile: in(700)},
		"jobs come in at the end":   {meanwhile: do("LPUSH", "new")},
		"jobs are claimed":          {meanwhile: do("LTRIM", 60, -1)},
		"the newest is taken":       {meanwhile: do("LTRIM", 0, -2)},
		"many of the newest":        {meanwhile: do("LTRIM", 0, -251)},
		"the oldest first, claimed": {oldest: true, meanwhile: do("LTRIM", 90, -1)},
		"both ends":                 {oldest: true, meanwhile: do("LTRIM", 190, -90)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.do(t, append([]any{"RPUSH", b.keys.Ready}, numbered(0, n)...)...)
			q := queue.Query{Places: []queue.Place{queue.InReady}, Oldest: test.oldest}
			list, last := searchAll(t, b.Store, q, func(step int) { test.meanwhile(t, b, step) })
			if last.Unsure {
				t.Error("it is not sure")
			}
			seen := map[string]int{}
			for _, e := range list {
				if seen[e.UUID]++; seen[e.UUID] > 1 && e.UUID != "" {
					t.Fatalf("met %s again", e.UUID)
				}
			}
			for _, text := range b.rdb.LRange(t.Context(), b.keys.Ready, 0, -1).Val() {
				var i int
				if _, err := fmt.Sscanf(text, `{"uuid":"n%d"}`, &i); err == nil && i < n && seen[fmt.Sprint("n", i)] == 0 {
					t.Fatalf("passed over n%d", i)
				}
			}
		})
	}
}

// A list that nobody could follow: the search says that it is not sure, and ends.
func TestASearchOfAListThatIsReplacedAllTheTimeIsNotSure(t *testing.T) {
	b := newBench(t, nil)
	replace := func(step int) {
		b.do(t, "DEL", b.keys.Ready)
		b.do(t, append([]any{"RPUSH", b.keys.Ready}, numbered(step*3000, 3000)...)...)
	}
	replace(100)
	if _, last := searchAll(t, b.Store, queue.Query{Places: []queue.Place{queue.InReady}}, replace); !last.Unsure {
		t.Error("it is sure")
	}
}

// What is found is taken at once, as a filtered replay does it, deep records and near ones: all that match are met and
// taken, and none is passed over for the holes that were filled. A few of those that stay are met again.
func TestASearchThatTakesWhatItFindsMeetsThemAll(t *testing.T) {
	for _, share := range []int{1, 2, 7} {
		for _, list := range []bool{false, true} {
			t.Run(fmt.Sprintf("one in %d, list %t", share, list), func(t *testing.T) {
				b := newBench(t, nil)
				if list {
					b = newListBench(t, 0, nil).bench
				}
				queue.SetNearEnd(b.Store, 50)
				const n = 2100
				fill(t, b, n)
				b.do(t, "DEL", b.keys.Pool, b.keys.Running, b.keys.Ready)
				search, err := b.NewSearch(queue.Query{Places: []queue.Place{queue.InDead}, Oldest: true}, time.UTC)
				if err != nil {
					t.Fatal(err)
				}
				taken, met := 0, map[string]int{}
				for cursor := ""; ; {
					found, err := search.Next(t.Context(), cursor)
					if err != nil || found.Unsure {
						t.Fatalf("unsure %t, %v", found.Unsure, err)
					}
					for _, e := range found.Entries {
						met[e.UUID]++
						var i int
						if _, err := fmt.Sscanf(e.UUID, "x%d", &i); err != nil || i%share > 0 {
							continue
						}
						replayOne(t, b.Store, e, queue.ReplayOptions{})
						taken++
					}
					if cursor = found.Cursor; cursor == "" {
						break
					}
				}
				if taken != n/share || len(met) != n {
					t.Errorf("took %d of %d, met %d", taken, n/share, len(met))
				}
				again := 0
				for _, times := range met {
					again += times - 1
				}
				if again > n/20 {
					t.Errorf("met %d again", again)
				}
				ready := int64(0)
				if list {
					ready = b.do(t, "LLEN", b.keys.Ready).(int64)
				} else {
					ready = b.do(t, "ZCARD", b.keys.Pool).(int64)
				}
				if dead := b.do(t, "LLEN", b.keys.Dead); dead != int64(n-taken) || ready != int64(taken) {
					t.Errorf("%v are dead, %d wait", dead, ready)
				}
			})
		}
	}
}

// Jobs that come and go while pool is searched by ZSCAN: those that stay are found.
func TestASearchOfAMovingPoolFindsWhatStays(t *testing.T) {
	b := newBench(t, nil)
	fill(t, b, 4000)
	list, _ := searchAll(t, b.Store, queue.Query{Places: []queue.Place{queue.InPool}}, func(step int) {
		b.do(t, "ZREMRANGEBYRANK", b.keys.Pool, 0, 99)
		b.do(t, "ZADD", b.keys.Pool, 1e9, fmt.Sprintf(`{"uuid":"new%d"}`, step))
	})
	seen := map[string]bool{}
	for _, e := range list {
		seen[e.UUID] = true
	}
	for _, text := range b.rdb.ZRange(t.Context(), b.keys.Pool, 0, -1).Val() {
		uuid, _, _ := strings.Cut(strings.TrimPrefix(text, `{"uuid":"`), `"`)
		if strings.HasPrefix(uuid, "x") && !seen[uuid] {
			t.Fatalf("passed over %s", uuid)
		}
	}
}

func TestACursorThatIsNoneIsRefused(t *testing.T) {
	b := newBench(t, nil)
	search, err := b.NewSearch(queue.Query{}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []string{"x", "!!", "bm8", "eyJwIjotMX0", "eyJwIjo5OX0", "eyJzIjo5OX0"} { // the last: p -1, p 99, s 99
		if _, err := search.Next(t.Context(), cursor); err == nil || !strings.Contains(err.Error(), "no cursor of this search") {
			t.Errorf("%s: %v", cursor, err)
		}
	}
	if _, err := b.NewSearch(queue.Query{Places: []queue.Place{"cellar"}}, time.UTC); err == nil {
		t.Error("a place that is none")
	}
}
