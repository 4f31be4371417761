package fastcgi

import (
	"bytes"
	"fmt"
)

// tailKept is how much of a stream's end is kept beyond its limit. The longest sign fits: 2500 characters
// of error and trace, each six bytes as JSON and a third more in base64.
const tailKept = 64 << 10

// kept is what is remembered of a stream: its first limit bytes and its last tailKept. The rest is counted
// and thrown away, so that hundreds of megabytes of output cost no memory.
type kept struct {
	limit int
	head  []byte
	tail  []byte // what came after head, up to twice tailKept
	size  int64  // of the whole stream
}

func (k *kept) add(p []byte) {
	k.size += int64(len(p))
	if room := min(k.limit-len(k.head), len(p)); room > 0 {
		k.head = append(k.head, p[:room]...)
		p = p[room:]
	}
	if over := len(k.tail) + len(p) - 2*tailKept; over > 0 {
		keep := max(0, min(len(k.tail), tailKept-len(p)))
		k.tail = append(k.tail[:0], k.tail[len(k.tail)-keep:]...)
		p = p[max(0, len(p)-2*tailKept):]
	}
	k.tail = append(k.tail, p...)
}

// whole reports that nothing was thrown away.
func (k *kept) whole() bool { return k.size == int64(len(k.head)+len(k.tail)) }

// all returns the stream, or its head and its tail where the middle is missing.
func (k *kept) all() (head, tail []byte) {
	switch {
	case len(k.tail) == 0:
		return k.head, nil
	case k.whole():
		return bytes.Join([][]byte{k.head, k.tail}, nil), nil
	}
	return k.head, k.tail
}

// last returns the end of the stream: all of it, or at least tailKept bytes.
func (k *kept) last() []byte {
	head, tail := k.all()
	if tail != nil {
		return tail
	}
	return head
}

// cut returns the first limit bytes of text, a head of a stream of size bytes, with a note of what is missing.
func cut(text []byte, limit int, size int64) []byte {
	if int64(len(text)) == size && len(text) <= limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: %d of %d bytes, output_limit]", min(limit, len(text)), size)
	return append(bytes.Clone(text[:min(limit, len(text))]), note...)
}
