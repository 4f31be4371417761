package faults

import (
	"context"
	"time"
)

// tooShort is the length of an outage that takes no lease: a lease of 3 s is renewed every second, and again right after.
const tooShort = time.Second

// outage notes that Redis is away from now until the function it returns is called.
func (s *shop) outage() (over func()) {
	from := time.Now()
	return func() {
		if time.Since(from) < tooShort {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.marks = append(s.marks, mark{effect: redisAway, from: from, to: time.Now()})
	}
}

// away is how long a strike keeps Redis from serving: often shorter than a lease, sometimes longer.
func (s *shop) away() time.Duration {
	return time.Duration(100+s.rng.IntN(200)*(1+s.rng.IntN(8))) * time.Millisecond
}

// linger waits for d, or until ctx ends.
func linger(ctx context.Context, d time.Duration) { _ = wait(ctx, d) }

// wait is linger for those who want to know whether ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// answers waits until the harness's own client is over the strike before.
func (s *shop) answers(ctx context.Context) (err error) {
	for range 100 {
		if err = s.rdb.Ping(ctx).Err(); err == nil {
			return nil
		}
		linger(ctx, 50*time.Millisecond)
	}
	return err
}
