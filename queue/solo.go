package queue

import "sync"

// solo lets runs go side by side, or one alone.
type solo struct {
	mu      sync.Mutex // guards what follows
	running int        // runs under way
	alone   bool       // one of them is to be the only one
	waiting int        // runs that wait to be alone: nobody else begins meanwhile, or they would wait for ever
	changed chan struct{}
}

func newSolo() *solo { return &solo{changed: make(chan struct{})} }

// enter waits until a run may begin, alone or beside others, and reports false when take is closed first. One that is to be
// alone does not wait for another such run: that is the one most likely to take the process with it, and whoever waits
// under a lease would be charged.
func (s *solo) enter(take <-chan struct{}, alone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if alone && (s.alone || s.waiting > 0) {
		return false
	}
	if alone {
		s.waiting++
		defer func() { s.waiting-- }()
	}
	for !s.mayEnterLocked(alone) {
		if !s.waitLocked(take) {
			s.wakeLocked() // those who waited for this one
			return false
		}
	}
	s.running++
	s.alone = alone
	return true
}

func (s *solo) mayEnterLocked(alone bool) bool {
	if alone {
		return s.running == 0
	}
	return !s.alone && s.waiting == 0
}

// waitLocked gives the mutex up until something has changed.
func (s *solo) waitLocked(take <-chan struct{}) bool {
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-take:
		return false
	case <-changed:
		return true
	}
}

// holdsUp reports that no run may begin beside those under way.
func (s *solo) holdsUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mayEnterLocked(false)
}

// leave ends a run.
func (s *solo) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.alone || s.waiting > 0 { // else nobody waits
		s.alone = false
		s.wakeLocked()
	}
}

// wakeLocked lets everybody look again.
func (s *solo) wakeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}
