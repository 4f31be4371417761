package dash

import (
	"math"
	"strconv"
	"time"
)

// readingText says what a condition was found at. What newer sidecars may look at is shown as it came.
func readingText(w words, r Reading) string {
	name := "alarm." + r.Condition
	if r.Condition == "fpm_down" && r.Cause == "full" {
		name = "alarm.fpm_full"
	}
	if _, there := messages[name]; there {
		name = w.t(name)
	} else {
		name = clipped(r.Condition, rowText)
	}
	value := name
	if !r.flag() {
		value = w.t("alarm.limit", name, r.amount(w, r.Value), r.amount(w, r.Limit))
	}
	if r.Why == "" {
		return value
	}
	return w.t("alarm.why", value, clipped(r.Why, reasonText))
}

// flag reports that the condition is so or not.
func (r Reading) flag() bool {
	switch r.Condition {
	case "stalled", "fpm_down", "redis_away":
		return true
	}
	return false
}

// amount is a value in the condition's unit.
func (r Reading) amount(w words, v float64) string {
	switch r.Condition {
	case "oldest_due", "paused_for", "redis_latency":
		d := Seconds(v).Duration()
		if d > 10*time.Second {
			d = d.Round(time.Second)
		}
		return length(w, d)
	case "failed_share":
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return number(int64(v))
	}
	return short(v)
}
