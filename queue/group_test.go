package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func testGroup(action Action) *group {
	return &group{action: action, wake: make(chan struct{}, 1)}
}

// order adds n settlements and returns their claims' places in the order they are taken.
func order(g *group, n int) (taken [][]uint64) {
	for i := range n {
		g.add(&settlement{claim: &held{seq: uint64(i + 1)}})
	}
	g.finish()
	for {
		batch := g.take(context.Background())
		if len(batch) == 0 {
			return taken
		}
		var seqs []uint64
		for _, one := range batch {
			seqs = append(seqs, one.claim.seq)
		}
		taken = append(taken, seqs)
	}
}

func TestSettlementsGoOutInTheirOrder(t *testing.T) {
	got := order(testGroup(Complete), groupMost+2)
	if len(got) != 2 || got[0][0] != 1 || !slices.Equal(got[1], []uint64{groupMost + 1, groupMost + 2}) {
		t.Errorf("got %v", got)
	}
}

func TestTextsForTheHeadOfReadyGoOutLastOnesFirst(t *testing.T) {
	got := order(testGroup(GiveBack), groupMost+2)
	if len(got) != 2 || got[0][0] != 3 || !slices.IsSorted(got[0]) || !slices.Equal(got[1], []uint64{1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestWhatWasRefusedIsOfferedBeforeTheRest(t *testing.T) {
	g := testGroup(Requeue)
	for seq := range uint64(3) {
		g.add(&settlement{claim: &held{seq: seq}})
	}
	batch := g.take(t.Context())
	g.add(&settlement{claim: &held{seq: 9}})
	g.putBack(batch[1:])
	var seqs []uint64
	for _, one := range g.take(t.Context()) {
		seqs = append(seqs, one.claim.seq)
	}
	if want := []uint64{1, 2, 9}; !slices.Equal(seqs, want) {
		t.Errorf("got %v, want %v", seqs, want)
	}
}

func TestAGroupWaitsUntilThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGroup(Complete)
		taken := make(chan int, 1)
		go func() { taken <- len(g.take(t.Context())) }()
		synctest.Wait()
		if len(taken) != 0 {
			t.Fatal("an empty group gave something")
		}
		g.add(&settlement{claim: &held{}})
		if got := <-taken; got != 1 {
			t.Errorf("got %d, want 1", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := g.take(ctx); got != nil {
			t.Errorf("got %v after the end, want none", got)
		}
	})
}

func TestTextsThatComeBackTogetherAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := testGroup(GiveBack)
		g.linger = giveBackLinger
		g.add(&settlement{claim: &held{seq: 2}})
		taken := make(chan []*settlement, 1)
		go func() { taken <- g.take(t.Context()) }()
		pause(t.Context(), giveBackLinger/2)
		g.add(&settlement{claim: &held{seq: 1}})
		if got := <-taken; len(got) != 2 || got[0].claim.seq != 1 {
			t.Errorf("got %d, want both in the order of their claims", len(got))
		}
	})
}

func TestTextsThatComeOneAfterTheOtherAreWaitedForButNotForEver(t *testing.T) {
	tests := map[string]struct{ come, written int }{
		"some":     {10, 10},
		"too many": {1000, lingersMost + 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := testGroup(GiveBack)
				g.linger = giveBackLinger
				taken := make(chan []*settlement, 1)
				go func() { taken <- g.take(t.Context()) }()
				var got []*settlement
				for i := 0; i < tt.come && got == nil; i++ {
					g.add(&settlement{claim: &held{seq: uint64(tt.come - i)}}) //nolint:gosec // few
					pause(t.Context(), giveBackLinger-time.Nanosecond)
					select {
					case got = <-taken:
					default:
					}
				}
				if got == nil {
					got = <-taken
				}
				inOrder := slices.IsSortedFunc(got, func(a, b *settlement) int { return cmp.Compare(a.claim.seq, b.claim.seq) })
				if len(got) != tt.written || !inOrder {
					t.Errorf("got %d, in order %t, want %d", len(got), inOrder, tt.written)
				}
			})
		})
	}
}

func TestOnlyALostReplyLeavesARunInDoubt(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"end of file":       {io.EOF, true},
		"cut":               {io.ErrUnexpectedEOF, true},
		"read timeout":      {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		"write failed":      {&net.OpError{Op: "write", Err: errors.New("broken pipe")}, true},
		"unknown":           {errors.New("?"), true},
		"dial failed":       {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false},
		"no connection":     {redis.ErrPoolTimeout, false},
		"ended before":      {context.Canceled, false},
		"refused":           {refusal("OOM command not allowed when used memory > 'maxmemory'."), false},
		"refused, no name":  {refusal("ERR something"), false},
		"refused, wrapped":  {fmt.Errorf("requeue mail: %w", refusal("READONLY You can't write")), false},
		"timeout, wrapped":  {fmt.Errorf("requeue mail: %w", os.ErrDeadlineExceeded), true},
		"loading":           {refusal("LOADING Redis is loading the dataset in memory"), false},
		"dial, deep inside": {fmt.Errorf("bury mail: %w", &net.OpError{Op: "dial", Err: errors.New("no route to host")}), false},
	}
	for name, tt := range tests {
		if got := mayHaveRun(tt.err); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
