package faults

import (
	"context"
	"time"
)

const (
	// tooShort is the length of an outage that takes no lease: a lease of 3 s is renewed every second, and again right after.
	tooShort = time.Second

	// tooShortToBreathe is how long Redis may be back between two outages without anybody having noticed: a sidecar
	// tries again after a sixth of a lease, give or take a half of that.
	tooShortToBreathe = 750 * time.Millisecond
)

// series are outages with so little between them that a sidecar may have met them as one.
type series struct{ from, to time.Time }

// with returns the series that goes on with, or begins with, an outage.
func (o series) with(from, to time.Time) series {
	if from.Sub(o.to) >= tooShortToBreathe {
		return series{from, to}
	}
	return series{o.from, to}
}

// takesLeases reports whether leases may have ended.
func (o series) takesLeases() bool { return o.to.Sub(o.from) >= tooShort }

// outage notes that Redis is away from now until the function it returns is called.
func (s *shop) outage() (over func()) {
	from := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.outages = s.outages.with(from, time.Now())
		if s.outages.takesLeases() {
			s.marks = append(s.marks, mark{effect: redisAway, from: s.outages.from, to: s.outages.to})
		}
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
