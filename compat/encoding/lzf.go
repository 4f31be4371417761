package encoding

import (
	"strings"

	"sidecar/compat"
)

// LZF has no header: a first byte below lzfLiterals announces that many and one more bytes as they are; any other byte
// says that bytes seen before come again, its high bits how many and its low bits, with the last byte, from how far back.
const (
	lzfLiterals  = 1 << 5      // a control byte below is a run of literals
	lzfLong      = 7           // in the high bits: one more byte of length follows
	lzfMinMatch  = 3           // shorter ones are literals
	lzfMaxMatch  = 1<<8 + 1<<3 // as PHP's library has it
	lzfMaxBack   = 1 << 13
	lzfTableBits = 16
)

// compressLZF finds the repetitions that PHP's liblzf finds, so that the bytes are PHP's own: an old worker removes a job by
// them. What does not shrink grows by one byte in 32, as with phpredis, which stores that too.
func compressLZF(data string) string {
	out := make([]byte, 0, len(data)+len(data)/lzfLiterals+1)
	var seen lzfTable
	start, at := 0, 0 // data[start:at] waits to be written as literals
	for at+lzfMinMatch <= len(data) {
		from := seen.swap(data, at)
		length := 0
		if from > 0 && at-from <= lzfMaxBack {
			length = lzfMatch(data, from, at)
		}
		if length < lzfMinMatch {
			at++
			continue
		}
		out = appendLZFLiterals(out, data[start:at])
		out = appendLZFMatch(out, at-from, length)
		at += length
		start = at
		if at+lzfMinMatch <= len(data) { // of what is in a match only its last two places are remembered
			seen.swap(data, at-2)
			seen.swap(data, at-1)
		}
	}
	return string(appendLZFLiterals(out, data[start:]))
}

// lzfTable knows where three bytes were last seen: the place and 1, by their hash.
type lzfTable [1 << lzfTableBits]int32

// swap notes what is at a place and returns where it was seen before, -1 for nowhere.
func (t *lzfTable) swap(data string, at int) int {
	three := uint32(data[at])<<16 | uint32(data[at+1])<<8 | uint32(data[at+2])
	slot := &t[(three>>(24-lzfTableBits)-three*5)&(1<<lzfTableBits-1)]
	from := int(*slot) - 1
	*slot = int32(at + 1)
	return from
}

// lzfMatch returns how many bytes from at on are those from an earlier place on. The last two bytes of data stay literals,
// unless no more than three are left.
func lzfMatch(data string, from, at int) int {
	most := min(lzfMaxMatch, max(len(data)-at-2, lzfMinMatch))
	n := 0
	for n < most && data[from+n] == data[at+n] {
		n++
	}
	return n
}

func appendLZFLiterals(out []byte, literals string) []byte {
	for literals != "" {
		n := min(len(literals), lzfLiterals)
		out = append(out, byte(n-1))
		out = append(out, literals[:n]...)
		literals = literals[n:]
	}
	return out
}

func appendLZFMatch(out []byte, back, length int) []byte {
	back, length = back-1, length-2
	if length < lzfLong {
		return append(out, byte(length<<5|back>>8), byte(back))
	}
	return append(out, byte(lzfLong<<5|back>>8), byte(length-lzfLong), byte(back))
}

// decompressLZF decompresses only what is LZF throughout. What is not is damaged only where it begins with literals that
// begin a job.
func decompressLZF(stored string, limit int) (string, error) {
	length, ok := compat.LZFLength(stored)
	if !ok && len(stored) > 2 && stored[0] < lzfLiterals && stored[1] == '{' && strings.IndexByte("\t\n\r", stored[0]) < 0 {
		return "", damaged("an LZF-compressed value")
	}
	if !ok {
		return "", errUnknown
	}
	if length > limit {
		return "", tooLarge(lzfCompression, uint64(length), limit)
	}
	return expandLZF(stored, length), nil
}

// expandLZF decompresses what is LZF to the length that [compat.LZFLength] found.
func expandLZF(data string, length int) string {
	out := make([]byte, 0, length)
	for data != "" {
		control := int(data[0])
		data = data[1:]
		if control < lzfLiterals {
			out = append(out, data[:control+1]...)
			data = data[control+1:]
			continue
		}
		size := control>>5 + 2
		if size == lzfLong+2 {
			size += int(data[0])
			data = data[1:]
		}
		from := len(out) - (control&0x1F)<<8 - int(data[0]) - 1
		data = data[1:]
		for ; size > 0; size-- {
			out = append(out, out[from]) // one by one: what is copied may still be growing
			from++
		}
	}
	return string(out)
}
