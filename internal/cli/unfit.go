package cli

import (
	"fmt"
	"slices"

	"sidecar/fastcgi"
	"sidecar/internal/config"
	"sidecar/queue"
)

// Kinds of heldOn that are faults and nobody's wish.
const (
	unfitFPM      = "fpm"       // the topic's PHP-FPM pool runs no jobs
	unfitTopic    = "not_ready" // its gate is shut, it is stalled, Redis refuses something
	unfitStopping = "stopping"
)

// unfitOn returns which living sidecars cannot run a topic's jobs, as readiness says it there, and whether none of them has it.
func unfitOn(living []queue.Heartbeat, t config.Topic) (on []heldOn, unserved bool) {
	unserved = len(living) > 0
	for _, b := range living {
		if !b.Has(t.Name) {
			continue
		}
		unserved = false
		if b.Stopping {
			on = append(on, heldOn{Instance: b.Instance, Host: b.Host, Kind: unfitStopping})
			continue
		}
		for _, reason := range b.Reasons {
			about := queue.ReasonFor(t.Name, t.Pool, reason)
			if about == "" || fastcgi.IsNotSeen(about) {
				continue
			}
			kind := unfitTopic
			if queue.IsOfPool(t.Pool, reason) {
				kind = unfitFPM
			}
			on = append(on, heldOn{Instance: b.Instance, Host: b.Host, Kind: kind, Reason: about})
			break
		}
	}
	return on, unserved
}

// unfitMark is the word in a table for a topic that sidecars cannot run; "" for none.
func (h held) unfitMark() string {
	for _, kind := range []string{unfitFPM, unfitTopic, unfitStopping} {
		if on := h.hostsOn(kind); on != "" {
			word := map[string]string{unfitFPM: "no fpm", unfitTopic: "not ready", unfitStopping: "stopping"}[kind]
			if kind == unfitFPM && h.fpmFull() {
				word = "fpm takes no job"
			}
			return word + on
		}
	}
	return ""
}

// fpmFull reports that where the pool runs no jobs PHP-FPM is there and takes none: it has no free worker, or hangs.
func (h held) fpmFull() bool {
	return !slices.ContainsFunc(h.Sidecars, func(on heldOn) bool { return on.Kind == unfitFPM && !fastcgi.IsFull(on.Reason) })
}

// unfitLines say why, each cause once: a pool's is that of many topics.
func unfitLines(topics []topicStatus) (lines []string) {
	for _, t := range topics {
		for _, on := range t.Sidecars {
			if on.Reason == "" || on.Kind != unfitFPM && on.Kind != unfitTopic {
				continue
			}
			line := fmt.Sprintf("%s cannot run %s: %s", cell(on.Host), cell(t.Topic), told(on.Reason))
			if on.Kind == unfitFPM {
				line = fmt.Sprintf("%s: %s", cell(on.Host), told(on.Reason))
			}
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return seenFirst(lines)
}

// staleOf says of sidecars whose last reload was refused that they go on with the settings of before, and why.
func staleOf(living []queue.Heartbeat) (lines []string) {
	for _, b := range living {
		if b.ReloadErr != "" {
			lines = append(lines, fmt.Sprintf("%s goes on with the settings of before, a reload was refused: %s", cell(b.Host), told(b.ReloadErr)))
		}
	}
	return lines
}

// seenFirst are the first of lines, and how many more there are.
func seenFirst(lines []string) []string {
	if n := len(lines) - namedMost; n > 0 {
		lines = append(lines[:namedMost:namedMost], fmt.Sprintf("and %d more: sidecar doctor", n))
	}
	return lines
}
