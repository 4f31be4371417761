package queue_test

import (
	"context"
	"errors"
	"sync"
)

// slots is a Gate with a number of slots.
type slots struct {
	free chan struct{}

	mu         sync.Mutex
	used, most int
}

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n)}
	s.Release(n)
	s.used = 0
	return s
}

func (s *slots) Acquire(ctx context.Context, most int) int {
	select {
	case <-ctx.Done():
		return 0
	case <-s.free:
	}
	n := 1
	for ; n < most && len(s.free) > 0; n++ {
		<-s.free // only one Feeder takes from a gate here
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += n
	s.most = max(s.most, s.used)
	return n
}

// Recall does nothing: these jobs begin as soon as they are handed over.
func (s *slots) Recall() {}

// Blocked says that all slots are in use, or what a test wants.
func (s *slots) Blocked() error {
	if len(s.free) == 0 {
		return errors.New("all slots are in use")
	}
	return nil
}

func (s *slots) Release(n int) {
	s.mu.Lock()
	s.used -= n
	s.mu.Unlock()
	for range n {
		s.free <- struct{}{}
	}
}

// mostUsed returns how many slots were taken at once, at most.
func (s *slots) mostUsed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// inUse returns how many slots are taken at the moment.
func (s *slots) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
