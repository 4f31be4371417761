package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sidecar/compat"
)

// cutShortGap is how far apart, for each outcome, the lines are that tell of runs which were cut short: a topic of which
// each job kills its worker costs a line a minute, however many jobs it has.
const cutShortGap = time.Minute

// cutShort tells in the log of a topic's runs that crashed or timed out. PHP has mostly no word of them in its own log, as
// its worker was killed, and the jobs go to dead only tries later.
type cutShort struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	told   map[compat.Verdict]time.Time
	untold map[compat.Verdict]int // since then
}

func newCutShort(log *slog.Logger) *cutShort {
	return &cutShort{log: log, told: make(map[compat.Verdict]time.Time), untold: make(map[compat.Verdict]int)}
}

// saw takes note of a run that has ended. What the job or its script says is not told: it may be anything.
func (c *cutShort) saw(ctx context.Context, job compat.Job, verdict compat.Verdict, took time.Duration) {
	if verdict != compat.Crashed && verdict != compat.TimedOut {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.told[verdict]; ok && time.Since(last) < cutShortGap {
		c.untold[verdict]++
		return
	}
	c.log.WarnContext(ctx, "run was cut short, others of its kind are told of once a minute", "uuid", job.PlainUUID(), "outcome", verdict.String(), "took", took,
		"tries_before", job.Tries(), "crashes_before", job.Crashes(), "others_since_last", c.untold[verdict])
	c.told[verdict], c.untold[verdict] = time.Now(), 0
}
