package queue

import (
	"context"
	"errors"
)

// ErrNoList reports that something is for profile list only.
var ErrNoList = errors.New("this is no list: all its jobs are where the old consumer looks for them")

// HandBack puts the jobs of a list that only the sidecar knows of back into their shards: those that wait for their next
// run, and those whose lease has ended. It is for the day when the old workers take over. running is how many
// are still being run.
func (s *Store) HandBack(ctx context.Context) (moved, running int, err error) {
	if s.opts.List == nil {
		return 0, 0, ErrNoList
	}
	waiting := func(ctx context.Context) (int, error) {
		p, err := s.promote(ctx, s.promoteList(s.opts.Batch, true))
		return p.Promoted, err
	}
	for _, step := range []func(context.Context) (int, error){waiting, s.handBackExpired} {
		for n := -1; n != 0; {
			if n, err = step(ctx); err != nil {
				return moved + n, 0, err
			}
			moved += n
		}
	}
	d, err := s.Depths(ctx)
	return moved, int(d.Running), err
}

// handBackExpired puts back a batch of claims whose lease has ended, uncounted.
func (s *Store) handBackExpired(ctx context.Context) (moved int, err error) {
	claims, _, err := s.Expired(ctx, s.opts.Batch)
	if err != nil {
		return 0, err
	}
	wire := s.wire()
	list := make([]Requeueing, len(claims))
	for i, c := range claims {
		text := wire.text(c.Text)
		list[i] = Requeueing{Text: c.Text, Held: c.Lease, NewText: text, ToReady: true, Expired: true}
		if job, _, err := wire.job(text); err == nil {
			list[i].UUID = job.UUID()
		}
	}
	results, err := s.Requeue(ctx, list)
	for _, r := range results {
		if r.Settlement == Settled {
			moved++
		}
		err = errors.Join(err, r.Err)
	}
	return moved, err
}
