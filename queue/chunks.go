package queue

import "iter"

// Bounds of one script call's work: Redis serves nobody else meanwhile.
const (
	chunkLen   = 200
	chunkBytes = 512 << 10
)

// chunks cuts list into parts small enough for one script call, in order. size tells an entry's bytes.
func chunks[T any](list []T, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		start, bytes := 0, 0
		for i, entry := range list {
			n := size(entry)
			if i > start && (i-start == chunkLen || bytes+n > chunkBytes) {
				if !yield(list[start:i]) {
					return
				}
				start, bytes = i, 0
			}
			bytes += n
		}
		if start < len(list) {
			yield(list[start:])
		}
	}
}
