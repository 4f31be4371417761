package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunsGoSideBySide(t *testing.T) {
	s := newSolo()
	for range 8 {
		if !s.enter(t.Context(), false) {
			t.Fatal("a run was refused")
		}
	}
	if s.running != 8 {
		t.Errorf("got %d runs, want 8", s.running)
	}
}

func TestARunThatIsToBeAloneIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSolo()
		var order []string
		run := func(name string, alone bool, d time.Duration) {
			s.enter(t.Context(), alone)
			order = append(order, name) // one at a time: the bubble's clock stands still
			pause(t.Context(), d)
			s.leave()
		}
		go run("first", false, 3*time.Second)
		synctest.Wait()
		go run("alone", true, 5*time.Second)
		synctest.Wait()
		go run("third", false, time.Second)
		synctest.Wait()

		pause(t.Context(), 2*time.Second)
		if len(order) != 1 {
			t.Fatalf("after 2 s began %v, want the first only: a run beside it, or one that overtook", order)
		}
		pause(t.Context(), 2*time.Second)
		if len(order) != 2 || order[1] != "alone" {
			t.Fatalf("after 4 s began %v, want first and alone", order)
		}
		pause(t.Context(), 5*time.Second)
		if len(order) != 3 {
			t.Fatalf("after 9 s began %v, want all", order)
		}
	})
}

func TestWaitingToBeAloneEndsWithTheContextAndLetsTheOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSolo()
		s.enter(t.Context(), false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := make(chan bool, 1)
		go func() { began <- s.enter(ctx, true) }()
		synctest.Wait()
		entered := make(chan bool, 1)
		go func() { entered <- s.enter(t.Context(), false) }()
		synctest.Wait()
		if len(entered) != 0 {
			t.Fatal("a run overtook the one that waits to be alone")
		}
		if <-began {
			t.Error("began alone beside another")
		}
		if !<-entered {
			t.Error("the run behind it was refused")
		}
	})
}
