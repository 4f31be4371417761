package cli

import (
	"context"
	"strings"
	"time"

	"sidecar/queue"
)

// pace is how many jobs a second may be moved at most; the zero value is as fast as it goes.
type pace struct {
	perSecond float64

	began time.Time
	moved int
}

func (p *pace) String() string { return "" }

// Set reads a rate as the configuration spells it; "500" is "500/s".
func (p *pace) Set(text string) error {
	if !strings.Contains(text, "/") {
		text += "/s"
	}
	rate, err := queue.ParseRate(text)
	if err != nil {
		return err
	}
	p.perSecond = float64(rate.N) / rate.Per.Seconds()
	return nil
}

// batchMost is how many jobs are written down together before they are moved.
const batchMost = 100

// batch is how many jobs are to be moved together, so that they come evenly.
func (p *pace) batch() int {
	if p.perSecond == 0 {
		return batchMost
	}
	return max(1, min(batchMost, int(p.perSecond/10)))
}

// wait returns when n more may be moved, or false when ctx ends before.
func (p *pace) wait(ctx context.Context, n int) bool {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	var due time.Duration
	if p.perSecond > 0 {
		due = time.Duration(float64(p.moved) / p.perSecond * float64(time.Second))
	}
	p.moved += n
	timer := time.NewTimer(time.Until(p.began.Add(due)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
