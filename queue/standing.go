package queue

import (
	"fmt"
	"time"
)

// stands reports that the loop has been at one step for longer than most, where that step is no waiting: it asks Redis,
// which answers or does not within some timeouts.
func (s *station) stands(most time.Duration) bool {
	if stood := time.Since(s.born) - time.Duration(s.since.Load()); stood <= most {
		return false
	}
	switch step(s.step.Load()) {
	case promoting, lookingForExpired, claiming, sorting, renewing:
		return true
	case starting, resting, awaitingReady, awaitingRuns, awaitingVerdicts, awaitingSlots, awaitingTokens, heldBack, backingOff:
		return false
	}
	return false
}

// Standing returns which loop of the Consumer has not come back from a call for longer than most, nil if all move. A Redis
// that is away is none: calls to it fail, and the loops go on. It waits for no lock that a loop could hold for long.
func (c *Consumer) Standing(most time.Duration) error {
	f := c.current()
	for _, loop := range []struct {
		name string
		at   *station
	}{{"scanner", f.scanner.at}, {"feeder", f.feeder.at}, {"keeper", f.keeper.at}} {
		if loop.at.stands(most) {
			return fmt.Errorf("the %s is at one step: %s", loop.name, loop.at)
		}
	}
	return nil
}
