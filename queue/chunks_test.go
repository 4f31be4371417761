package queue

import (
	"slices"
	"testing"
)

func TestChunksKeepTheOrderAndTheBounds(t *testing.T) {
	tests := map[string]struct {
		sizes []int
		want  []int // lengths of the parts
	}{
		"none":                  {nil, nil},
		"one":                   {[]int{1}, []int{1}},
		"by number":             {slices.Repeat([]int{1}, 450), []int{200, 200, 50}},
		"by bytes":              {slices.Repeat([]int{chunkBytes / 4}, 9), []int{4, 4, 1}},
		"one above the bound":   {[]int{1, 2 * chunkBytes, 1}, []int{1, 1, 1}},
		"exactly at the number": {slices.Repeat([]int{1}, chunkLen), []int{chunkLen}},
	}
	for name, test := range tests {
		var lengths, all []int
		for part := range chunks(test.sizes, func(n int) int { return n }) {
			lengths = append(lengths, len(part))
			all = append(all, part...)
		}
		if !slices.Equal(lengths, test.want) || !slices.Equal(all, test.sizes) {
			t.Errorf("%s: parts of %v, want %v", name, lengths, test.want)
		}
	}
	for range chunks([]int{1, chunkBytes, 1}, func(n int) int { return n }) {
		break // a walk may end early
	}
}
