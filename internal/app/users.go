package app

import "sync"

// users counts the generations that have a topic, so that its series go when the last of them does: a gauge of a
// topic that is no more would stay at its last value.
type users struct {
	gone func(name string) // told of a name that nobody has any more

	mu sync.Mutex
	of map[string]int // guarded by mu
}

func (u *users) add(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = make(map[string]int)
	}
	u.of[name]++
}

func (u *users) leave(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[name]--; u.of[name] <= 0 {
		delete(u.of, name)
		u.gone(name) // under the lock: whoever adds the name next makes new series
	}
}
