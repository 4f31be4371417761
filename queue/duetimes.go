package queue

import (
	"hash/maphash"
	"sync"
)

// dueTimes carries due times past ready: a text's score is gone once it is promoted, yet lateness is
// the start of the run minus that score, and what is due first is at ready's head. It remembers texts that this process
// promoted, by their hash, so that it stays small however large texts are, however many lie in ready and however many are
// claimed by others: where there are too many it remembers only some of them, evenly from all of ready.
type dueTimes struct {
	seed maphash.Seed

	mu     sync.Mutex // guards what follows
	at     map[uint64]carried
	order  []uint64 // hashes as they were promoted, also of texts that were taken
	passed int      // place of the text that was taken last: those before it are gone, too, for ready keeps its order
	stride int      // each stride-th text is remembered
	left   int      // texts to pass over until the next one
}

// carried is a due time and its place in order.
type carried struct {
	due   ServerTime
	place int
}

const (
	// dueTimesKept bounds dueTimes: some seconds of promotions, or a picture of ready that is fine enough.
	dueTimesKept = 4096

	// strideMost bounds how few of the texts are remembered where others claim all of them.
	strideMost = 1024
)

func newDueTimes() *dueTimes {
	return &dueTimes{
		seed:   maphash.MakeSeed(),
		at:     make(map[uint64]carried),
		order:  make([]uint64, 0, dueTimesKept),
		passed: -1,
		stride: 1,
	}
}

// add remembers when the texts had been due.
func (d *dueTimes) add(due []Due) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, text := range due {
		switch {
		case text.At <= always:
		case d.left > 0:
			d.left--
		default:
			d.left = d.stride - 1
			d.put(maphash.String(d.seed, text.Text), text.At)
		}
	}
}

func (d *dueTimes) put(hash uint64, at ServerTime) {
	if len(d.order) == dueTimesKept {
		d.tidy()
	}
	d.at[hash] = carried{at, len(d.order)}
	d.order = append(d.order, hash)
}

// tidy makes room: of what was taken or passed, else of every other text. So few texts at a time are remembered, and as
// many more again, as ready is long.
func (d *dueTimes) tidy() {
	waiting := make([]uint64, 0, len(d.order))
	for i, hash := range d.order {
		if c, ok := d.at[hash]; ok && c.place == i && i > d.passed {
			waiting = append(waiting, hash)
		}
	}
	every := 1
	switch n := len(waiting); {
	case n > dueTimesKept/2:
		every = 2
		d.stride = min(2*d.stride, strideMost)
	case n < dueTimesKept/4 && d.stride > 1:
		d.stride /= 2
	}
	before := d.at
	d.at, d.order, d.passed = make(map[uint64]carried, dueTimesKept), d.order[:0], -1
	for i := 0; i < len(waiting); i += every {
		d.at[waiting[i]] = carried{before[waiting[i]].due, len(d.order)}
		d.order = append(d.order, waiting[i])
	}
}

// passAll notes that ready is empty: what is remembered of it lies there no more.
func (d *dueTimes) passAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passed, d.stride, d.left = len(d.order)-1, 1, 0
}

// take returns when text had been due and forgets it; 0 when it is not known.
func (d *dueTimes) take(text string) ServerTime {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.at) == 0 {
		return 0
	}
	hash := maphash.String(d.seed, text)
	c, ok := d.at[hash]
	if !ok {
		return 0
	}
	delete(d.at, hash)
	d.passed = max(d.passed, c.place)
	return c.due
}
