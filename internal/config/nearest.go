package config

import "strings"

// nearest returns the field whose name is a slip away from name, "" if none is. Case and dashes do not count;
// of eight letters three may be wrong.
func nearest(name string, fields []field) string {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace
	name = plain(strings.ToLower(name))
	if len(name) > 40 {
		return "" // no name is so long, and Slips takes time
	}
	best, least := "", 4
	for _, f := range fields {
		known := plain(f.name)
		if d := Slips(name, known); d < least && d <= max(len(known)*3/8, 1) {
			best, least = f.name, d
		}
	}
	return best
}

// Slips returns how many characters have to be put in, left out, changed or swapped with their neighbour to make b of a.
func Slips(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, row := []int(nil), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		for j := 1; j <= len(y); j++ {
			differ := 1
			if x[i-1] == y[j-1] {
				differ = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+differ)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}
