package compat

import "encoding/binary"

// LZ4Head is the size of what phpredis puts before an LZ4 block: a check byte, and the length of what is in it in four
// bytes, the lowest first.
const LZ4Head = 1 + 4

// LZ4Length reads the head of an LZ4 member: how long it is decompressed. ok is false when the check byte is wrong, or so
// short a block cannot be so long; one byte of it stands for 255 at most.
func LZ4Length(stored string) (length int, ok bool) {
	if len(stored) <= LZ4Head || stored[0] != LZ4Check(stored[1:LZ4Head]) {
		return 0, false
	}
	length = int(binary.LittleEndian.Uint32([]byte(stored[1:LZ4Head])))
	return length, length > 0 && length/255 <= len(stored)-LZ4Head
}

// LZ4Check returns the check byte of the length in an LZ4 member: a CRC with polynomial 0x31, from 0xFF on, high bits first.
func LZ4Check(length string) byte {
	crc := byte(0xFF)
	for _, c := range []byte(length) {
		crc ^= c
		for range 8 {
			carry := crc&0x80 != 0
			crc <<= 1
			if carry {
				crc ^= 0x31
			}
		}
	}
	return crc
}

// LZFLength walks over LZF data and returns how long it is decompressed. ok is false where it is not LZF to its last byte,
// which is the only sign there is: LZF has no header.
func LZFLength(data string) (length int, ok bool) {
	at := 0
	for at < len(data) {
		control := int(data[at])
		at++
		if control < 32 { // as many literals, and one more
			at += control + 1
			length += control + 1
			continue
		}
		size := control >> 5
		if size == 7 && at < len(data) {
			size += int(data[at])
			at++
		}
		if at == len(data) {
			return 0, false
		}
		distance := (control&0x1F)<<8 + int(data[at]) + 1
		at++
		if distance > length {
			return 0, false
		}
		length += size + 2
	}
	return length, at == len(data) && length > 0
}
