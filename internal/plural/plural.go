// Package plural writes numbers with what they count.
package plural

import "strconv"

// Of is n and its words: one, such as "job waits", where n is 1, else many, such as "jobs wait".
func Of[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}
