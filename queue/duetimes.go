package queue

import (
	"hash/maphash"
	"sync"
)

// dueTimes carries due times past ready: a text's score is gone once it is promoted, yet lateness is
// the start of the run minus that score. It remembers the last texts this process promoted, by their
// hash, so that it stays small however large texts are and however many are claimed by others.
type dueTimes struct {
	seed maphash.Seed

	mu    sync.Mutex // guards what follows
	at    map[uint64]ServerTime
	order []uint64 // ring: the hashes in at, oldest at next
	next  int
}

// dueTimesKept bounds dueTimes: some seconds of promotions.
const dueTimesKept = 4096

func newDueTimes() *dueTimes {
	return &dueTimes{
		seed:  maphash.MakeSeed(),
		at:    make(map[uint64]ServerTime),
		order: make([]uint64, 0, dueTimesKept),
	}
}

// add remembers when the texts had been due.
func (d *dueTimes) add(due []Due) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, text := range due {
		if text.At > always {
			d.put(maphash.String(d.seed, text.Text), text.At)
		}
	}
}

func (d *dueTimes) put(hash uint64, at ServerTime) {
	d.at[hash] = at
	if len(d.order) < dueTimesKept {
		d.order = append(d.order, hash)
		return
	}
	// The oldest goes; if its text was taken meanwhile and came back, only its sample is missed.
	if oldest := d.order[d.next]; oldest != hash {
		delete(d.at, oldest)
	}
	d.order[d.next] = hash
	d.next = (d.next + 1) % dueTimesKept
}

// take returns when text had been due and forgets it; 0 when it is not known.
func (d *dueTimes) take(text string) ServerTime {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.at) == 0 {
		return 0
	}
	hash := maphash.String(d.seed, text)
	at := d.at[hash]
	delete(d.at, hash)
	return at
}
