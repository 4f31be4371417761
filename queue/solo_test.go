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
		if !s.enter(t.Context().Done(), false) {
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
		began := make(chan string, 3)
		run := func(name string, alone bool, d time.Duration) {
			s.enter(t.Context().Done(), alone)
			began <- name
			pause(t.Context(), d)
			s.leave()
		}
		go run("first", false, 3*time.Second)
		synctest.Wait()
		go run("alone", true, 5*time.Second)
		synctest.Wait()
		go run("third", false, time.Second)
		synctest.Wait()

		for _, step := range []struct {
			after time.Duration
			want  string // began meanwhile
		}{{2 * time.Second, "first"}, {2 * time.Second, "alone"}, {5 * time.Second, "third"}} {
			pause(t.Context(), step.after)
			if len(began) != 1 {
				t.Fatalf("%d runs began, want %s only", len(began), step.want)
			}
			if got := <-began; got != step.want {
				t.Fatalf("%s began, want %s", got, step.want)
			}
		}
	})
}

func TestWaitingToBeAloneEndsWithTheContextAndLetsTheOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSolo()
		s.enter(t.Context().Done(), false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := make(chan bool, 1)
		go func() { began <- s.enter(ctx.Done(), true) }()
		synctest.Wait()
		entered := make(chan bool, 1)
		go func() { entered <- s.enter(t.Context().Done(), false) }()
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

// Whoever waits for another's lone run under a lease would be charged if that one kills the process.
func TestARunThatIsToBeAloneDoesNotWaitForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSolo()
		s.enter(t.Context().Done(), false)
		entered := make(chan bool, 1)
		go func() { entered <- s.enter(t.Context().Done(), true) }()
		synctest.Wait()
		if s.enter(t.Context().Done(), true) {
			t.Error("a second one waited to be alone")
		}
		s.leave()
		if !<-entered {
			t.Fatal("the first was refused")
		}
		if s.enter(t.Context().Done(), true) {
			t.Error("two are alone")
		}
		s.leave()
		if !s.enter(t.Context().Done(), true) {
			t.Error("refused although nobody runs")
		}
	})
}
