package queue

import "strconv"

// due reads a pool's score as a time. What is never due (+inf, a score beyond all times) is 0; what
// always has been (-inf, negative, zero) is the first microsecond.
func (s *Store) due(score string) ServerTime {
	n, err := strconv.ParseFloat(score, 64)
	n *= float64(s.unit) // milliseconds
	switch {
	case err != nil || n > maxScore:
		return 0
	case n <= 0:
		return 1
	}
	return ServerTime(n * 1000)
}
