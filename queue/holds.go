package queue

import (
	"context"
	"fmt"
	"time"

	"sidecar/internal/plural"
)

// tellLocked says what has begun and ended, in the log and to the metrics.
func (b *brake) tellLocked(ctx context.Context) {
	now, was := b.pause, b.logged.pause
	switch {
	case now != nil && (was == nil || *was != *now):
		b.log.InfoContext(ctx, "topic is paused", "kind", HoldManual.String(), "by", now.By, "until", untilText(now.Until), "reason", now.Reason)
	case now == nil && was != nil:
		b.log.InfoContext(ctx, "topic is paused no more", "kind", HoldManual.String())
	}
	switch {
	case b.window != nil && !b.logged.window:
		b.log.InfoContext(ctx, "topic is paused", "kind", HoldWindow.String(), "window", b.window.Reason, "until", untilText(b.window.Until))
	case b.window == nil && b.logged.window:
		b.log.InfoContext(ctx, "topic is paused no more", "kind", HoldWindow.String())
	}
	b.logged.pause, b.logged.window = now, b.window != nil
	for kind, on := range map[HoldKind]bool{
		HoldManual: b.pause != nil, HoldWindow: b.window != nil, HoldBreaker: b.breaker.trip != nil, HoldRate: b.throttledLocked(),
	} {
		b.metrics.paused[kind].Set(float64(flag(on)))
	}
}

// untilText is the end of a hold as the log shows it.
func untilText(t time.Time) string {
	if t.IsZero() {
		return "somebody ends it"
	}
	return t.Format(time.RFC3339)
}

func (b *brake) tellTripLocked(ctx context.Context) {
	t := b.breaker.trip
	b.metrics.trips.Inc()
	b.metrics.paused[HoldBreaker].Set(1)
	b.log.WarnContext(ctx, "topic is paused on this sidecar: its runs fail with one error", "kind", HoldBreaker.String(),
		"failures", t.failures, "class", t.class, "probe_every", b.breaker.every)
}

func (b *brake) tellOpenLocked(ctx context.Context) {
	b.metrics.paused[HoldBreaker].Set(0)
	b.log.InfoContext(ctx, "topic is paused no more", "kind", HoldBreaker.String())
}

// endBreak lets the topic go on that its breaker holds, and reports that it did.
func (b *brake) endBreak(ctx context.Context) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.breaker.trip == nil {
		return false
	}
	b.breaker.trip = nil
	b.tellOpenLocked(ctx)
	b.turnLocked()
	return true
}

// holds returns all that holds the topic back at present.
func (b *brake) holds() (holds []Hold) {
	bucket := b.bucket.Load()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause != nil {
		holds = append(holds, b.pause.hold())
	}
	if b.window != nil {
		holds = append(holds, *b.window)
	}
	if t := b.breaker.trip; t != nil {
		holds = append(holds, Hold{
			Kind: HoldBreaker, Since: b.serverNowLocked().Add(-time.Since(t.at)),
			Reason:   fmt.Sprintf("%s in a row: %s; one job is tried every %s", plural.Of(t.failures, "run", "runs"), t.class, b.breaker.every),
			Failures: t.failures, Class: t.class, Probe: b.serverNowLocked().Add(time.Until(t.next)),
		})
	}
	if bucket != nil && b.throttledLocked() {
		holds = append(holds, Hold{Kind: HoldRate, Reason: bucket.text()})
	}
	return holds
}

// throttledLocked reports that the Feeder waits for tokens, or did a short time ago.
func (b *brake) throttledLocked() bool {
	return b.waiting > 0 || !b.waited.IsZero() && time.Since(b.waited) < time.Second
}

// excuse returns why a Feeder that is there claims nothing, nil if the brake is no reason.
func (b *brake) excuse(at *station) error {
	for _, h := range b.holds() {
		switch h.Kind {
		case HoldManual, HoldWindow:
			return errHeld(h.Kind)
		case HoldBreaker: // one that is on its way to a probe may be stuck like any other
			if at.is(heldBack) {
				return errHeld(h.Kind)
			}
		case HoldRate:
			if at.is(awaitingTokens) {
				return errHeld(h.Kind)
			}
		}
	}
	return nil
}
