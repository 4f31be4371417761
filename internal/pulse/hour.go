package pulse

import (
	"maps"
	"slices"
	"time"

	"sidecar/internal/dash"
	"sidecar/queue"
)

// recentMinutes is what rates and quantiles are taken from.
const recentMinutes = 5

// History is what is known of the last hour.
type History struct {
	Topics map[string]TopicHistory
	All    []dash.Minute // all topics together
}

// TopicHistory is one topic's part of it.
type TopicHistory struct {
	Minutes []dash.Minute // the oldest first
	Recent  dash.Recent
}

// hour is the minutes of all sidecars, by sidecar and minute.
type hour map[string]map[int64]queue.Minute

// put keeps a minute, and of its sidecar none that is older than an hour before now.
func (h hour) put(instance string, minute queue.Minute, now int64) {
	of := h[instance]
	if of == nil {
		of = make(map[int64]queue.Minute)
		h[instance] = of
	}
	of[minute.At] = minute
	maps.DeleteFunc(of, func(at int64, _ queue.Minute) bool { return at <= now-1-queue.MinutesKept })
}

// history sums up the minutes before now.
func (h hour) history(now int64) History {
	sums := make(map[int64]map[string]queue.TopicMinute)
	var bounds bounds
	for _, instance := range slices.Sorted(maps.Keys(h)) {
		for at, minute := range h[instance] {
			if at >= now || at < now-queue.MinutesKept || !bounds.fit(minute) {
				continue
			}
			sum := sums[at]
			if sum == nil {
				sum = make(map[string]queue.TopicMinute)
				sums[at] = sum
			}
			for name, topic := range minute.Topics {
				sum[name] = add(sum[name], topic)
			}
		}
	}
	return summed(sums, now, bounds)
}

// bounds are those of the histograms. Minutes of another version, whose bounds differ, cannot be added.
type bounds struct{ run, late []float64 }

func (b *bounds) fit(m queue.Minute) bool {
	if b.run == nil {
		b.run, b.late = m.RunBounds, m.LateBounds
	}
	return m.RunBounds == nil || slices.Equal(b.run, m.RunBounds) && slices.Equal(b.late, m.LateBounds)
}

func summed(sums map[int64]map[string]queue.TopicMinute, now int64, b bounds) History {
	history := History{Topics: make(map[string]TopicHistory)}
	names := make(map[string]bool)
	for _, sum := range sums {
		for name := range sum {
			names[name] = true
		}
	}
	all := make(map[int64]queue.TopicMinute)
	ins := make(map[int64]int64)
	for name := range names {
		topic, byMinute := topicHistory(sums, name, now, b)
		history.Topics[name] = topic
		for i, at := range byMinute {
			all[at] = addDepths(all[at], sums[at][name])
			ins[at] += topic.Minutes[i].In
		}
	}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		m := minuteOf(at, all[at], b)
		m.In = ins[at]
		history.All = append(history.All, m)
	}
	return history
}

// addDepths is add for different topics: their depths are added, too.
func addDepths(a, b queue.TopicMinute) queue.TopicMinute {
	sum := add(a, b)
	if a.Depths != nil && b.Depths != nil {
		sum.Depths = &queue.Reading{
			Pool: a.Depths.Pool + b.Depths.Pool, Due: a.Depths.Due + b.Depths.Due, Ready: a.Depths.Ready + b.Depths.Ready,
			Running: a.Depths.Running + b.Depths.Running, Dead: a.Depths.Dead + b.Depths.Dead,
			OldestDue: max(a.Depths.OldestDue, b.Depths.OldestDue),
		}
	}
	return sum
}

// topicHistory returns one topic's minutes, and which these are.
func topicHistory(sums map[int64]map[string]queue.TopicMinute, name string, now int64, b bounds) (h TopicHistory, ats []int64) {
	var before *queue.Reading
	var recent queue.TopicMinute
	var in, left, minutes int64
	for at := now - queue.MinutesKept; at < now; at++ {
		sum, ok := sums[at][name]
		if !ok && sums[at] == nil {
			before = nil // nobody kept this minute
			continue
		}
		m := minuteOf(at, sum, b)
		m.In = came(before, sum)
		before = sum.Depths
		h.Minutes, ats = append(h.Minutes, m), append(ats, at)
		h.Recent.DeadPerHour += sum.Dead
		h.Recent.Outcomes = addOutcomes(h.Recent.Outcomes, sum.Outcomes)
		if at >= now-recentMinutes {
			recent = add(recent, sum)
			in, left, minutes = in+m.In, left+sum.Left, minutes+1
		}
	}
	if minutes > 0 {
		h.Recent.InPerMinute, h.Recent.OutPerMinute = float64(in)/float64(minutes), float64(left)/float64(minutes)
	}
	h.Recent.P50, h.Recent.P99 = quantile(.5, b.run, recent.Run, recent.RunMost), quantile(.99, b.run, recent.Run, recent.RunMost)
	h.Recent.LateP50, h.Recent.LateP99 = quantile(.5, b.late, recent.Late, recent.LateMost), quantile(.99, b.late, recent.Late, recent.LateMost)
	return h, ats
}

// came returns how many jobs came in between two readings: producers tell nobody, but what waits now has waited before or
// come, and so has what has left. Where there is no reading, it is what has left.
func came(before *queue.Reading, sum queue.TopicMinute) int64 {
	if before == nil || sum.Depths == nil {
		return sum.Left
	}
	return max(0, waits(sum.Depths)-waits(before)+sum.Left)
}

func waits(r *queue.Reading) int64 { return r.Pool + r.Ready + r.Running }

func minuteOf(at int64, sum queue.TopicMinute, b bounds) dash.Minute {
	m := dash.Minute{
		At: time.Unix(at*60, 0).UTC(), Out: sum.Left, Outcomes: sum.Outcomes, Dead: sum.Dead,
		P50: quantile(.5, b.run, sum.Run, sum.RunMost), P99: quantile(.99, b.run, sum.Run, sum.RunMost),
	}
	if d := sum.Depths; d != nil {
		m.Depths = dash.Depths{Pool: d.Pool, Due: d.Due, Ready: d.Ready, Running: d.Running, Dead: d.Dead}
		m.OldestDue = dash.Seconds(d.OldestDue)
	}
	return m
}
