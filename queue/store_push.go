package queue

import (
	"context"
	"time"
)

// Push adds text to the pool as a producer does, due delay from now by Redis's clock.
func (s *Store) Push(ctx context.Context, text string, delay time.Duration) error {
	_, err := s.call(ctx, "push", pushScript, []string{s.keys.pool}, text, max(0, delay.Milliseconds()), s.unit)
	return err
}
