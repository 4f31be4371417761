package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sidecar/queue"
)

func TestARefFindsItsJobAgain(t *testing.T) {
	b := newBench(t, nil)
	fill(t, b, 700)
	b.do(t, "ZADD", b.keys.Pool, "-inf", `{"uuid":"first"}`, "+inf", `{"uuid":"never"}`, 1e30, `{"uuid":"far"}`)
	for _, place := range queue.Places() {
		for i, e := range peekAll(t, b.Store, place, 500) {
			if i%97 > 0 && e.UUID != "never" && e.UUID != "first" && e.UUID != "far" {
				continue
			}
			ref := e.Ref()
			if strings.Trim(ref, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" || strings.Contains(ref, e.UUID) && len(e.UUID) > 4 {
				t.Fatalf("the ref is %s", ref)
			}
			if got, err := b.Entry(t.Context(), ref); err != nil || got != e {
				t.Fatalf("%s is %+v, %v, want %+v", ref, got, err, e)
			}
		}
	}
	found, _ := searchAll(t, b.Store, queue.Query{UUID: "never"}, nil)
	if e, err := b.Entry(t.Context(), found[0].Ref()); err != nil || e.UUID != "never" { // its rank is not known
		t.Errorf("%+v, %v", e, err)
	}
}

// Between a page and a click the keys move on.
func TestARefFindsAJobThatHasMovedALittle(t *testing.T) {
	b := newBench(t, nil)
	fill(t, b, 2000)
	refs := map[queue.Place]string{}
	for _, place := range queue.Places() {
		refs[place] = peekAll(t, b.Store, place, 500)[1000].Ref()
	}
	b.do(t, "ZREMRANGEBYRANK", b.keys.Pool, 0, 599)
	b.do(t, "LTRIM", b.keys.Ready, 600, -1)
	b.do(t, "LTRIM", b.keys.Dead, 700, -1)
	for range 900 {
		b.do(t, "RPUSH", b.keys.Ready, "new")
		b.do(t, "RPUSH", b.keys.Dead, "new")
	}
	b.do(t, "ZADD", b.keys.Running, 1e15, fmt.Sprintf(`{"uuid":"x1000","pad":"%s"}`, strings.Repeat("p", 100))) // renewed
	for place, want := range map[queue.Place]string{queue.InPool: "x1000", queue.InReady: "x1000", queue.InRunning: "x1000", queue.InDead: "x999"} {
		if e, err := b.Entry(t.Context(), refs[place]); err != nil || e.UUID != want {
			t.Errorf("%s: %s, %v, want %s", place, e.UUID, err, want)
		}
	}
	b.do(t, "DEL", b.keys.Pool, b.keys.Running, b.keys.Ready, b.keys.Dead)
	for place, ref := range refs {
		if _, err := b.Entry(t.Context(), ref); !errors.Is(err, queue.ErrNotThere) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestOfManyJobsThatAreDueAtOnceARefFindsTheRightOne(t *testing.T) {
	b := newBench(t, nil)
	for i := range 300 {
		b.do(t, "ZADD", b.keys.Pool, 0, fmt.Sprintf(`{"uuid":"z%d"}`, i))
	}
	list, _ := searchAll(t, b.Store, queue.Query{UUID: "z299"}, nil)
	if e, err := b.Entry(t.Context(), list[0].Ref()); err != nil || e.UUID != "z299" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestARefThatIsNoneIsRefused(t *testing.T) {
	b := newListBench(t, 2, nil)
	sum := strings.Repeat("a", 20)
	for _, ref := range []string{"", "x", "pool_0_0_0__", "pool_x_0_0__" + sum, "pool_0_0_0_x_" + sum, "cellar_0_0_0__" + sum, "ready_7_0_0__" + sum, "ready_-1_0_0__" + sum} {
		if _, err := b.Entry(t.Context(), ref); err == nil || errors.Is(err, queue.ErrNotThere) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func TestARefFindsAListsJobs(t *testing.T) {
	b := newListBench(t, 2, nil)
	b.push(t, 1, listJob("a"), listJob("b"), listJob("c"))
	if _, err := b.Claim(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.do(t, "LPUSH", b.lists.Dead, listJobAt("d", 4))
	for place, want := range map[queue.Place]string{queue.InReady: "b", queue.InRunning: "a", queue.InDead: "d"} {
		e := peekAll(t, b.Store, place, 5)[0]
		if got, err := b.Entry(t.Context(), e.Ref()); err != nil || got != e || got.UUID != want {
			t.Errorf("%s: %+v, %v", place, got, err)
		}
	}
}

func TestAWaitingJobIsMadeDueNow(t *testing.T) {
	for _, unit := range []queue.ScoreUnit{queue.Milliseconds, queue.Seconds} {
		b := newBench(t, func(o *queue.Options) { o.ScoreUnit = unit })
		text := `{"uuid":"a"}`
		if err := b.Push(t.Context(), text, time.Hour); err != nil {
			t.Fatal(err)
		}
		b.do(t, "ZADD", b.keys.Pool, "+inf", "never")
		for _, text := range []string{text, "never"} {
			if changed, err := b.RunNow(t.Context(), queue.Entry{Place: queue.InPool, Stored: text}); err != nil || !changed {
				t.Errorf("%t, %v", changed, err)
			}
			if changed, err := b.RunNow(t.Context(), queue.Entry{Place: queue.InPool, Stored: text}); err != nil || changed {
				t.Errorf("again: %t, %v", changed, err)
			}
		}
		wantKeys(t, b, Keys{Pool: map[string]string{text: "0s", "never": "0s"}})
		b.do(t, "DEL", b.keys.Pool)
		if _, err := b.RunNow(t.Context(), queue.Entry{Place: queue.InPool, Stored: text}); !errors.Is(err, queue.ErrNotThere) {
			t.Error(err)
		}
		wantKeys(t, b, Keys{})
		for place, want := range map[queue.Place]error{queue.InReady: nil, queue.InRunning: queue.ErrRunning, queue.InDead: queue.ErrDead} {
			if changed, err := b.RunNow(t.Context(), queue.Entry{Place: place, Stored: text}); changed || !errors.Is(err, want) {
				t.Errorf("%s: %t, %v, want %v", place, changed, err, want)
			}
		}
	}
	l := newListBench(t, 0, nil)
	if err := l.Push(t.Context(), listJob("a"), time.Hour); err != nil {
		t.Fatal(err)
	}
	e := peekAll(t, l.Store, queue.InPool, 5)[0]
	if changed, err := l.RunNow(t.Context(), e); err != nil || !changed {
		t.Errorf("%t, %v", changed, err)
	}
	if _, err := l.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantListKeys(t, l, List{Lists: map[int][]string{0: {listJob("a")}}})
}
