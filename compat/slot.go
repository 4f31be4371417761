package compat

import (
	"slices"
	"strings"
)

const (
	slotCount = 16384  // of a Redis Cluster
	crcPoly   = 0x1021 // CRC16/XMODEM: x^16 + x^12 + x^5 + 1
)

// HashSlot returns the Redis Cluster slot of key. A script may only touch keys of one slot, so a topic
// whose keys differ here cannot be consumed on a Cluster. Where the key holds a hash tag, the text between
// its first '{' and the next '}' and not empty, only that tag counts.
func HashSlot(key string) int {
	if _, behind, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(behind, "}"); ok && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % slotCount
}

// OutsideSlot returns the first of the keys, marks included, that is not in the Cluster slot of Pool: no script can
// then move a job. It is "" when all are in one slot.
func (k DelayKeys) OutsideSlot() string {
	return outsideSlotOf(k.Pool, k.Ready, k.Running, k.Dead, k.Idem("uuid"))
}

// OutsideSlot returns the first of the keys that is not in the Cluster slot of the first list; "" when all are in one
// slot. Those of Ack may be anywhere.
func (k ListKeys) OutsideSlot() string {
	return outsideSlotOf(k.Lists[0], append(slices.Clone(k.Lists[1:]), k.Dead, k.Running, k.Pool, k.Reasons)...)
}

func outsideSlotOf(key string, others ...string) string {
	slot := HashSlot(key)
	for _, other := range others {
		if HashSlot(other) != slot {
			return other
		}
	}
	return ""
}

// crc16 is computed bit by bit: it runs a few times at start, a table would be longer than its use.
func crc16(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= crcPoly
			}
		}
	}
	return crc
}
