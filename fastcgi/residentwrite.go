package fastcgi

// outgoing is a frame to be written.
type outgoing struct {
	kind   frameKind
	errand *errand // of a job's
}

// pingBody is sent and must come back. Only one ping is under way at a time, so that it need not be another each time.
const pingBody = "ping"

// flushAll writes to the workers that dispatch has linked: first, and those behind it. crew.mu is not held.
func flushAll(first *resident) {
	for r := first; r != nil; r = r.flush() {
	}
}

// flush writes what is unsent until there is nothing more, and returns the next worker of the list that dispatch
// has made. Whoever has set r.writing calls it, without crew.mu.
func (r *resident) flush() (next *resident) {
	c := r.crew
	r.writes.Lock() // only against the end of the worker
	defer r.writes.Unlock()
	for first := true; ; first = false {
		c.mu.Lock()
		if first {
			next, r.nextToFlush = r.nextToFlush, nil
		}
		batch := r.unsent
		r.unsent = nil
		if len(batch) == 0 {
			r.writing = false
			c.mu.Unlock()
			return next
		}
		c.mu.Unlock()
		if !r.write(batch) {
			return next // nobody writes any more
		}
	}
}

// write sends frames in one go, and says which could not be sent.
func (r *resident) write(batch []outgoing) bool {
	r.out = r.out[:0]
	var ends [aheadInSocket + 2]int
	for i, f := range batch {
		switch f.kind { //nolint:exhaustive // the others come the other way
		case jobFrame:
			r.out = appendJob(r.out, f.errand.id, f.errand.job, r.targets[f.errand.route.number], f.errand.trace)
		case pingFrame:
			r.out = appendFrame(r.out, pingFrame, pingBody)
		case endFrame:
			r.out = appendFrame(r.out, endFrame, "")
		}
		ends[min(i, len(ends)-1)] = len(r.out)
	}
	n, err := r.conn.Write(r.out)
	if cap(r.out) > 2*aheadBytes {
		r.out = nil
	}
	if err == nil {
		return true
	}
	if c, ok := r.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // only this side: verdicts that the worker wrote before its end are still to be read
	}
	r.crew.mu.Lock()
	defer r.crew.mu.Unlock()
	for i, f := range append(batch, r.unsent...) {
		if f.errand != nil && (i >= len(batch) || n < ends[min(i, len(ends)-1)]) {
			f.errand.unsent = true
		}
	}
	return false
}
