package queue

import "strconv"

// plausible is how far from now a due time may lie, in milliseconds: 20 years. The three units are a factor
// of 1000 apart, so a score can make sense in one of them only.
const plausible = 20 * 365 * 24 * 60 * 60 * 1000

// SuspectUnit names the unit that a pool's score seems to be written in when it makes no sense in the topic's:
// "s", "ms" or "us". It is "" when the score makes sense, or would in none: producers write
// 0 for at once.
func SuspectUnit(score string, unit ScoreUnit, now ServerTime) string {
	n, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return ""
	}
	for _, u := range []struct {
		name   string
		millis float64
	}{{"s", 1000}, {"ms", 1}, {"us", 0.001}} {
		away := n*u.millis - float64(now)/1000
		if away < -plausible || away > plausible {
			continue
		}
		if u.name == string(unit) {
			return ""
		}
		return u.name
	}
	return ""
}
