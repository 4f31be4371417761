package encoding

import (
	"encoding/binary"
	"strings"
)

// The header is the version of the format: 2, and 1 of old extensions, which wrote strings alike.
const (
	igbinaryHeader    = "\x00\x00\x00\x02"
	igbinaryOldHeader = "\x00\x00\x00\x01"
)

// Types of igbinary, as measured: all numbers are big endian.
const (
	igbinaryNull        = 0x00
	igbinaryEmptyString = 0x0D
	igbinaryString8     = 0x11
	igbinaryString16    = 0x12
	igbinaryString32    = 0x13
	igbinaryArray8      = 0x14
	igbinaryArray32     = 0x16
	igbinaryObject8     = 0x17
	igbinaryObject32    = 0x19
)

func writeIgbinary(text string) string {
	head := []byte(igbinaryHeader)
	switch n := len(text); {
	case n == 0:
		head = append(head, igbinaryEmptyString)
	case n < 1<<8:
		head = append(head, igbinaryString8, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, igbinaryString16), uint16(n))
	default: // Redis holds no 4 GB in one value
		head = binary.BigEndian.AppendUint32(append(head, igbinaryString32), uint32(n))
	}
	return string(head) + text
}

func readIgbinary(data string) (string, error) {
	if !strings.HasPrefix(data, igbinaryHeader) && !strings.HasPrefix(data, igbinaryOldHeader) {
		return "", errUnknown
	}
	if len(data) == len(igbinaryHeader) {
		return "", damaged("an igbinary value")
	}
	kind, rest := data[len(igbinaryHeader)], data[len(igbinaryHeader)+1:]
	switch {
	case kind == igbinaryEmptyString:
		return igbinaryText(rest, 0)
	case kind == igbinaryString8:
		return igbinaryText(rest, 1)
	case kind == igbinaryString16:
		return igbinaryText(rest, 2)
	case kind == igbinaryString32:
		return igbinaryText(rest, 4)
	case kind == igbinaryNull:
		return "", noText("an igbinary null")
	case kind >= igbinaryArray8 && kind <= igbinaryArray32:
		return "", noText("an igbinary array")
	case kind >= igbinaryObject8 && kind <= igbinaryObject32:
		return "", noText("an igbinary object")
	}
	return "", noText("an igbinary value of another type")
}

// igbinaryText returns the text behind its length of size bytes.
func igbinaryText(data string, size int) (string, error) {
	length, text, ok := cutLength(data, size)
	if !ok || length != len(text) {
		return "", damaged("an igbinary string")
	}
	return text, nil
}

// cutLength cuts a number of size bytes, big endian, off the beginning of data. ok is false when data is shorter.
func cutLength(data string, size int) (length int, rest string, ok bool) {
	if len(data) < size {
		return 0, "", false
	}
	for _, c := range []byte(data[:size]) {
		length = length<<8 | int(c)
	}
	return length, data[size:], true
}
