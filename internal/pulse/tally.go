package pulse

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/queue"
)

// The metrics that are read, as package queue names them.
const (
	outcomesName = "sidecar_outcomes_total"
	buriedName   = "sidecar_buried_total"
	beforeName   = "sidecar_done_before_total"
	mergedName   = "sidecar_twins_merged_total"
	runName      = "sidecar_run_duration_seconds"
	lateName     = "sidecar_lateness_seconds"
	doneOutcome  = "done"
)

// tally is what the process has counted since its start.
type tally struct {
	runBounds, lateBounds []float64
	topics                map[string]queue.TopicMinute
}

// take reads the counters from g.
func take(g prometheus.Gatherer) (tally, error) {
	t := tally{topics: make(map[string]queue.TopicMinute)}
	families, err := g.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string, 2)
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			topic := t.topics[labels["topic"]]
			count := int64(m.GetCounter().GetValue())
			switch family.GetName() {
			case outcomesName:
				if topic.Outcomes == nil {
					topic.Outcomes = make(map[string]int64)
				}
				topic.Outcomes[labels["outcome"]] = count
				if labels["outcome"] == doneOutcome {
					topic.Left += count
				}
			case buriedName:
				topic.Dead += count
				topic.Left += count
			case beforeName, mergedName:
				topic.Left += count
			case runName:
				t.runBounds, topic.Run = buckets(m.GetHistogram())
			case lateName:
				t.lateBounds, topic.Late = buckets(m.GetHistogram())
			default:
				continue
			}
			t.topics[labels["topic"]] = topic
		}
	}
	return t, err
}

// histogram is a histogram as the client library gives it: how many were at most as large as each bound.
type histogram[B bucket] interface {
	GetBucket() []B
	GetSampleCount() uint64
}

type bucket interface {
	GetUpperBound() float64
	GetCumulativeCount() uint64
}

// buckets returns a histogram's bounds and how many were between each two, and above the last.
func buckets[B bucket](h histogram[B]) (bounds []float64, counts []int64) {
	before := uint64(0)
	for _, b := range h.GetBucket() {
		bounds = append(bounds, b.GetUpperBound())
		counts = append(counts, int64(b.GetCumulativeCount()-before))
		before = b.GetCumulativeCount()
	}
	return bounds, append(counts, int64(h.GetSampleCount()-before))
}

// since returns what was counted between before and t. What has become less is a topic that was taken away meanwhile and
// has come back.
func (t tally) since(before tally) map[string]queue.TopicMinute {
	changed := make(map[string]queue.TopicMinute)
	for name, now := range t.topics {
		was := before.topics[name]
		d := queue.TopicMinute{
			Left: grown(now.Left, was.Left), Dead: grown(now.Dead, was.Dead),
			Run: grownAll(now.Run, was.Run), Late: grownAll(now.Late, was.Late),
		}
		for outcome, n := range now.Outcomes {
			if n = grown(n, was.Outcomes[outcome]); n > 0 {
				if d.Outcomes == nil {
					d.Outcomes = make(map[string]int64)
				}
				d.Outcomes[outcome] = n
			}
		}
		if d.Left > 0 || d.Outcomes != nil || d.Run != nil || d.Late != nil {
			changed[name] = d
		}
	}
	return changed
}

func grown(now, was int64) int64 {
	if now < was {
		return now
	}
	return now - was
}

// grownAll is grown for the buckets of a histogram; nil when none has.
func grownAll(now, was []int64) []int64 {
	if len(was) != len(now) {
		was = make([]int64, len(now))
	}
	d := make([]int64, len(now))
	for i := range now {
		d[i] = grown(now[i], was[i])
	}
	if !slices.ContainsFunc(d, func(n int64) bool { return n != 0 }) {
		return nil
	}
	return d
}

// add returns the sum of two topics' minutes. Depths are the later one's, b's, where it has any.
func add(a, b queue.TopicMinute) queue.TopicMinute {
	sum := queue.TopicMinute{
		Left: a.Left + b.Left, Dead: a.Dead + b.Dead,
		Run: addAll(a.Run, b.Run), Late: addAll(a.Late, b.Late),
		RunMost: greatest(a.Run, b.Run, a.RunMost, b.RunMost), LateMost: greatest(a.Late, b.Late, a.LateMost, b.LateMost),
		Outcomes: addOutcomes(maps.Clone(a.Outcomes), b.Outcomes), Depths: a.Depths,
	}
	if b.Depths != nil {
		sum.Depths = b.Depths
	}
	return sum
}

// addOutcomes adds to a what b has, and returns it; it is made where it is nil and b has some.
func addOutcomes(a, b map[string]int64) map[string]int64 {
	for outcome, n := range b {
		if a == nil {
			a = make(map[string]int64)
		}
		a[outcome] += n
	}
	return a
}

// greatest is that of two counts of buckets; 0 where it is not known of one of them.
func greatest(a, b []int64, most, other float64) float64 {
	if len(a) > 0 && most == 0 || len(b) > 0 && other == 0 {
		return 0
	}
	return max(most, other)
}

// addAll adds buckets of the same bounds. Others, of another version, cannot be added: then b's are left out.
func addAll(a, b []int64) []int64 {
	switch {
	case len(a) == 0:
		return slices.Clone(b)
	case len(a) != len(b):
		return a
	}
	sum := slices.Clone(a)
	for i, n := range b {
		sum[i] += n
	}
	return sum
}
