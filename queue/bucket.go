package queue

import (
	"math"
	"sync"
	"time"
)

// bucket holds the tokens of a topic's rate: one a claim. It fills at the rate, up to what that grants in burstOf.
type bucket struct {
	mu     sync.Mutex // guards what follows
	rate   Rate
	tokens float64
	filled time.Time // when the tokens were last counted
}

const (
	// burstOf is how much of the rate may come at once, after a while without jobs: at least one.
	burstOf = 100 * time.Millisecond
	// trancheOf is how much of it is waited for when there is none, so that a high rate does not cost a call for each job.
	trancheOf = 20 * time.Millisecond
)

func newBucket(rate Rate, now time.Time) *bucket {
	b := &bucket{rate: rate, filled: now}
	b.tokens = b.share(burstOf)
	return b
}

// share is what the rate grants in d: at least one.
func (b *bucket) share(d time.Duration) float64 { return max(1, b.rate.perSecond()*d.Seconds()) }

// rerate changes the rate and keeps what was used of the old one: a reload is no way to get a burst more.
func (b *bucket) rerate(rate Rate, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked(now)
	b.rate = rate
	b.tokens = min(b.tokens, b.share(burstOf))
}

// take takes up to n tokens and returns how many.
func (b *bucket) take(n int, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked(now)
	got := min(n, int(b.tokens))
	b.tokens -= float64(got)
	return got
}

// put gives back n tokens that no job has used.
func (b *bucket) put(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+float64(n), b.share(burstOf))
}

// ready returns how many tokens there are, and with none how long it takes until some are worth a claim.
func (b *bucket) ready(now time.Time) (n int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked(now)
	if b.tokens >= 1 {
		return int(b.tokens), 0
	}
	missing := b.share(trancheOf) - b.tokens
	return 0, time.Duration(math.Ceil(missing / b.rate.perSecond() * float64(time.Second)))
}

func (b *bucket) fillLocked(now time.Time) {
	passed := max(0, now.Sub(b.filled))
	b.filled = now
	b.tokens = min(b.tokens+passed.Seconds()*b.rate.perSecond(), b.share(burstOf))
}

// text says what the rate is.
func (b *bucket) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate.String()
}
