package encoding

import (
	"encoding/binary"
	"strings"
)

// Leads of msgpack, by its specification; PHP's extension writes no bin, others do. All numbers are big endian.
const (
	msgpackFixMap = 0x80 // to 0x8F, the count in the low bits
	msgpackFixStr = 0xA0 // to 0xBF, the length in the low bits
	msgpackNil    = 0xC0
	msgpackBin8   = 0xC4
	msgpackBin16  = 0xC5
	msgpackBin32  = 0xC6
	msgpackStr8   = 0xD9
	msgpackStr16  = 0xDA
	msgpackStr32  = 0xDB
	msgpackMap16  = 0xDE
)

func writeMsgpack(text string) string {
	var head []byte
	switch n := len(text); {
	case n < 1<<5:
		head = append(head, msgpackFixStr|byte(n))
	case n < 1<<8:
		head = append(head, msgpackStr8, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, msgpackStr16), uint16(n))
	default: // Redis holds no 4 GB in one value
		head = binary.BigEndian.AppendUint32(append(head, msgpackStr32), uint32(n))
	}
	return string(head) + text
}

// readMsgpack reads a msgpack string. The format has no header, and nearly every byte begins something in it: what does
// not add up is damaged only where it goes on like a job, and a map is one only where a key follows.
func readMsgpack(data string) (string, error) {
	if data == "" {
		return "", errUnknown
	}
	lead, rest := data[0], data[1:]
	switch {
	case isFixStr(lead):
		return msgpackText(int(lead&0x1F), rest)
	case lead == msgpackStr8, lead == msgpackBin8:
		return msgpackSized(rest, 1)
	case lead == msgpackStr16, lead == msgpackBin16:
		return msgpackSized(rest, 2)
	case lead == msgpackStr32, lead == msgpackBin32:
		return msgpackSized(rest, 4)
	case lead&0xF0 == msgpackFixMap:
		return msgpackMap(rest, 0)
	case lead == msgpackMap16:
		return msgpackMap(rest, 2)
	}
	return "", errUnknown
}

func isFixStr(lead byte) bool { return lead&0xE0 == msgpackFixStr }

// msgpackSized returns the text behind its length of size bytes.
func msgpackSized(data string, size int) (string, error) {
	length, text, ok := cutLength(data, size)
	if !ok {
		return "", errUnknown
	}
	return msgpackText(length, text)
}

func msgpackText(length int, text string) (string, error) {
	switch {
	case length == len(text):
		return text, nil
	case strings.HasPrefix(text, "{"):
		return "", damaged("a msgpack string")
	}
	return "", errUnknown
}

// msgpackMap says so when data, behind a count of size bytes, goes on with a key, or with the nil that PHP's extension
// puts before the name of an object's class.
func msgpackMap(data string, size int) (string, error) {
	if len(data) > size && (isFixStr(data[size]) || data[size] == msgpackStr8 || data[size] == msgpackNil) {
		return "", noText("a msgpack map")
	}
	return "", errUnknown
}
