package pulse

import "sidecar/internal/dash"

// quantile estimates which value a share q of all were at most, from how many fell between each two bounds: linearly
// within a bucket, as Prometheus does, but none is above the greatest that there was, where that is known (most > 0). Without it there is
// none above the last bound but that bound.
func quantile(q float64, bounds []float64, counts []int64, most float64) dash.Seconds {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	if total == 0 || len(counts) != len(bounds)+1 || len(bounds) == 0 {
		return 0
	}
	rank, below := q*float64(total), int64(0)
	for i, bound := range bounds {
		n := counts[i]
		if float64(below+n) < rank || n == 0 {
			below += n
			continue
		}
		from := 0.0
		if i > 0 {
			from = bounds[i-1]
		}
		if most > 0 {
			bound = max(from, min(bound, most))
		}
		return dash.Seconds(from + (bound-from)*(rank-float64(below))/float64(n))
	}
	return dash.Seconds(max(bounds[len(bounds)-1], most))
}
