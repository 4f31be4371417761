package queue

import (
	"context"
	"time"

	"sidecar/compat"
)

// Push adds text to the pool as a producer does, due delay from now by Redis's clock. In profile list it goes to its
// shard, or to our pool until it is due.
func (s *Store) Push(ctx context.Context, text string, delay time.Duration) error {
	if s.opts.List != nil {
		return s.pushToList(ctx, text, delay)
	}
	_, err := s.call(ctx, "push", pushScript, []string{s.keys.pool}, text, max(0, delay.Milliseconds()), s.unit)
	return err
}

func (s *Store) pushToList(ctx context.Context, text string, delay time.Duration) error {
	shard := 0
	if job, _, err := s.wire().job(text); err == nil {
		shard = compat.Shard(job.UUID(), s.opts.List.Shards)
	}
	if delay < time.Millisecond {
		_, err := s.call(ctx, "push", pushListScript, []string{s.keys.ready[shard]}, text)
		return err
	}
	id, _ := s.calls.next()
	entry := compat.JoinClaim(shard, id, text)
	_, err := s.call(ctx, "push", pushScript, []string{s.keys.pool}, entry, delay.Milliseconds(), s.unit)
	return err
}
