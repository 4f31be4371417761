package queue

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestTheNextClaimWaitsForRoomForABatchOnlyWhileNoWorkerCouldRunDry(t *testing.T) {
	tests := map[string]struct{ workers, most, jobs, want int }{
		"no look-ahead, all busy":       {4, 4, 4, 3},
		"no look-ahead, one busy":       {4, 4, 1, 3},
		"nothing under way":             {4, 256, 0, 31},
		"every worker has one":          {4, 256, 4, 31},
		"as much as workers hold":       {4, 256, 32, 32},
		"twice of it":                   {4, 256, 64, 48},
		"as much as can be":             {4, 256, 256, 208},
		"as much as can be, one worker": {1, 64, 64, 36},
		"a small look-ahead":            {4, 8, 8, 7},
	}
	for name, tt := range tests {
		f := newFlight(tt.workers, tt.most)
		f.enter(tt.jobs)
		if got := f.mark(); got != tt.want {
			t.Errorf("%s: claims on at %d jobs under way, want %d", name, got, tt.want)
		}
	}
}

func TestWhoWaitsForRoomIsWokenWhenItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlight(1, 8)
		f.enter(8)
		var there bool
		ended := make(chan struct{})
		go func() { there = f.await(t.Context(), 5); close(ended) }()
		for range 2 {
			f.leave()
		}
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("woken at 6 jobs under way, want 5")
		default:
		}
		f.leave()
		<-ended
		if !there || f.free() != 3 {
			t.Errorf("got %v with room for %d, want true and 3", there, f.free())
		}
	})
}

func TestAWakeUpOfEarlierIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlight(1, 8)
		f.room <- struct{}{}
		f.enter(8)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan bool, 1)
		go func() { ended <- f.await(ctx, 5) }()
		synctest.Wait()
		stop()
		if <-ended {
			t.Error("reports room for 3 jobs, and there is none")
		}
	})
}
