package fastcgi

import (
	"slices"
	"sync"
)

// owner is a pool or topic that can say how it stands.
type owner interface{ report() }

// owners are those who use the series of a name, the newest last. A reload may bring a second one of a name while the
// first finishes its jobs: then the newest alone sets the gauges.
type owners struct {
	mu     sync.Mutex
	byName map[string][]owner // guarded by mu
}

func (o *owners) add(name string, who owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		o.byName = make(map[string][]owner)
	}
	o.byName[name] = append(o.byName[name], who)
}

// newest returns the one that speaks for each name.
func (o *owners) newest() (all []owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, of := range o.byName {
		all = append(all, of[len(of)-1])
	}
	return all
}

// set runs write, which sets a gauge of name, unless there is a newer owner than who, or who has left.
func (o *owners) set(name string, who owner, write func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if all := o.byName[name]; len(all) > 0 && all[len(all)-1] == who {
		write()
	}
}

// leave takes who off the list. When it was the last one, it runs forget; else whoever is the newest now reports, as
// the one who left may have set the gauges.
func (o *owners) leave(name string, who owner, forget func()) {
	o.mu.Lock()
	left := slices.DeleteFunc(o.byName[name], func(have owner) bool { return have == who })
	o.byName[name] = left
	if len(left) == 0 {
		delete(o.byName, name)
		forget()
	}
	o.mu.Unlock()
	if len(left) > 0 {
		left[len(left)-1].report()
	}
}
