package queue

import "strconv"

// plausible is how far from now a due time may lie, in milliseconds: 20 years. The three units are a factor
// of 1000 apart, so a score can make sense in one of them only.
const plausible = 20 * 365 * 24 * 60 * 60 * 1000

// Microseconds are no unit that a topic may have, but what some producers write.
const Microseconds ScoreUnit = "us"

// millis is how many milliseconds one of the unit is; 0 where there is none of that name.
func (u ScoreUnit) millis() float64 {
	switch u {
	case Seconds:
		return 1000
	case Milliseconds:
		return 1
	case Microseconds:
		return 0.001
	}
	return 0
}

// ScoreUnits are those that scores may seem to be in.
func ScoreUnits() []ScoreUnit { return []ScoreUnit{Seconds, Milliseconds, Microseconds} }

// SuspectUnit names the unit that a pool's score seems to be written in when it makes no sense in the topic's:
// "s", "ms" or "us". It is "" when the score makes sense, or would in none: producers write
// 0 for at once.
func SuspectUnit(score string, unit ScoreUnit, now ServerTime) string {
	n, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return ""
	}
	for _, u := range ScoreUnits() {
		away := n*u.millis() - float64(now)/1000
		if away < -plausible || away > plausible {
			continue
		}
		if u == unit {
			return ""
		}
		return string(u)
	}
	return ""
}
