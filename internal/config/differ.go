package config

import (
	"strings"

	"sidecar/queue"
)

// Difference is between two sidecars that run a topic's jobs in different ways.
type Difference struct {
	One, Other queue.Heartbeat
	Options    string // those among which it is, in words
}

// DifferIn returns two of living whose options for a topic differ, if there are such. Sidecars of different versions are not compared.
func DifferIn(topic string, living []queue.Heartbeat) (d Difference, found bool) {
	first := map[string]queue.Heartbeat{} // by version
	for _, b := range living {
		sums, has := b.Settings[topic]
		if !has || b.Stopping {
			continue
		}
		one, known := first[b.Version]
		if !known {
			first[b.Version] = b
			continue
		}
		if groups := Differ(one.Settings[topic], sums); len(groups) > 0 {
			return Difference{one, b, inWords(groups)}, true
		}
	}
	return d, false
}

// inWords names groups of options.
func inWords(groups [][]string) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g[0]
		if last := len(g) - 1; last > 0 {
			texts[i] = strings.Join(g[:last], ", ") + " or " + g[last]
		}
	}
	return strings.Join(texts, "; in ")
}
