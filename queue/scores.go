package queue

import "strconv"

// always is the due time of scores that are no times: 0, negative, -inf. Such jobs are not late.
const always ServerTime = 1

// due reads a pool's score as a time. What is never due (+inf, a score beyond all times) is 0; what
// always has been (-inf, negative, zero) is always.
func (s *Store) due(score string) ServerTime {
	n, err := strconv.ParseFloat(score, 64)
	n *= float64(s.unit) // milliseconds
	switch {
	case err != nil || n > maxScore:
		return 0
	case n <= 0:
		return always
	}
	return ServerTime(n * 1000)
}
