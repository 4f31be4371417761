package queue

import (
	"cmp"
	"slices"
	"strconv"
)

// row are jobs of one claim call whose leases follow each other, by their indexes in a list of completions: no
// other lease lies between them.
type row []int

// rowsOf puts the jobs that may be told by their leases into rows, and returns the indexes of the others.
func rowsOf(list []Completion) (named []int, rows []row) {
	type place struct {
		index int
		lease float64
	}
	var places []place
	for i, c := range list {
		if lease, err := strconv.ParseFloat(string(c.Held), 64); err == nil && c.Sole && c.Next == "" && c.UUID == "" {
			places = append(places, place{i, lease})
			continue
		}
		named = append(named, i)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.lease, b.lease) })
	for k, p := range places {
		if k > 0 && p.lease == places[k-1].lease+leaseStep {
			last := len(rows) - 1
			rows[last] = append(rows[last], p.index)
			continue
		}
		rows = append(rows, row{p.index})
	}
	return named, rows
}
