package cli

import (
	"context"
	"iter"
	"time"

	"sidecar/internal/plural"
	"sidecar/queue"
)

// source finds the jobs that somebody means.
type source struct {
	found     func(context.Context) iter.Seq2[queue.Found, error] // one step after the other; the last one's Unsure says that some may have been passed over
	one, many string                                              // what it looks at
	filter    string                                              // which jobs, as the audit trail shows it
	uuids     words                                               // the jobs that were named
	now       time.Time                                           // Redis's, when it began
}

// entries are the jobs that are found, one by one. Progress tells how far the search has come.
func (s source) entries(ctx context.Context, progress *progress) iter.Seq2[queue.Entry, error] {
	return func(yield func(queue.Entry, error) bool) {
		defer progress.done()
		for found, err := range s.found(ctx) {
			if err != nil {
				yield(queue.Entry{}, err)
				return
			}
			for _, e := range found.Entries {
				if !yield(e, nil) {
					return
				}
			}
			progress.tell("looked at %d of %s", found.Looked, plural.Of(found.Of, s.one, s.many))
		}
	}
}
