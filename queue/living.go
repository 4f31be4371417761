package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lives reports that the sidecar has not said goodbye, and not been silent for so long that it must be gone.
func (b Heartbeat) Lives(now time.Time) bool { return !b.Stopped && !b.Lost(now) }

// Living returns those that live at now, by Redis's clock.
func Living(beats []Heartbeat, now time.Time) []Heartbeat {
	return slices.DeleteFunc(slices.Clone(beats), func(b Heartbeat) bool { return !b.Lives(now) })
}

// Has reports that the sidecar consumes the topic, or did until it began to stop. One whose heartbeat cannot be read may: that
// nobody does must not be said while it lives.
func (b Heartbeat) Has(topic string) bool { return b.Unread || slices.Contains(b.Topics, topic) }

// UnreadNote says that a sidecar's heartbeat cannot be read.
const UnreadNote = "its heartbeat cannot be read (another version?)"

// Serves reports that the sidecar consumes the topic at now, by Redis's clock: it lives, and does not stop.
func (b Heartbeat) Serves(topic string, now time.Time) bool {
	return b.Lives(now) && !b.Stopping && b.Has(topic)
}

// Hold returns by what of a kind this sidecar alone holds the topic back.
func (b Heartbeat) Hold(topic string, kind HoldKind) (Hold, bool) {
	for _, h := range b.Holds {
		if h.Topic == topic && h.Kind == kind {
			return h.Hold, true
		}
	}
	return Hold{}, false
}

// What reasons are about that name one topic or PHP-FPM pool. Others are about the whole sidecar.
const (
	ofTopic = "topic"
	ofPool  = "fpm pool"
)

// about is how a reason begins that names what it is about.
func about(what, name string) string { return fmt.Sprintf("%s %q: ", what, name) }

// isAbout reports that a reason names one of these, whichever it is.
func isAbout(what, reason string) bool { return strings.HasPrefix(reason, what+` "`) }

// TopicReason is why a sidecar does not run a topic's jobs, as readiness and heartbeats say it.
func TopicReason(topic string, why error) string { return about(ofTopic, topic) + fmt.Sprint(why) }

// PoolReason is why it runs no jobs in a PHP-FPM pool.
func PoolReason(pool string, why error) string { return about(ofPool, pool) + fmt.Sprint(why) }

// ReasonFor returns what a sidecar's reason says of a topic that runs in pool, without the topic's name; "" where it is
// about other topics or pools.
func ReasonFor(topic, pool, reason string) string {
	if own, ok := strings.CutPrefix(reason, about(ofTopic, topic)); ok {
		return own
	}
	if isAbout(ofTopic, reason) || isAbout(ofPool, reason) && !IsOfPool(pool, reason) {
		return ""
	}
	return reason
}

// IsOfPool reports that a sidecar's reason is about that PHP-FPM pool.
func IsOfPool(pool, reason string) bool { return strings.HasPrefix(reason, about(ofPool, pool)) }
