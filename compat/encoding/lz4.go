package encoding

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"

	"sidecar/compat"
)

// compressLZ4 leaves an empty text alone, as phpredis does.
func compressLZ4(data string) (string, error) {
	if data == "" {
		return "", nil
	}
	out := make([]byte, compat.LZ4Head+lz4.CompressBlockBound(len(data)))
	head, block := out[:compat.LZ4Head], out[compat.LZ4Head:]
	binary.LittleEndian.PutUint32(head[1:], uint32(len(data)))
	head[0] = compat.LZ4Check(string(head[1:]))
	var c lz4.CompressorCCompat
	n, err := c.CompressBlock([]byte(data), block)
	if err != nil {
		return "", fmt.Errorf("compress a block: %w", err)
	}
	return string(out[:len(head)+n]), nil
}

func decompressLZ4(stored string, limit int) (string, error) {
	length, ok := compat.LZ4Length(stored)
	if !ok {
		return "", errUnknown
	}
	if length > limit {
		return "", tooLarge(lz4Compression, uint64(length), limit)
	}
	out := make([]byte, length)
	n, err := lz4.UncompressBlock([]byte(stored[compat.LZ4Head:]), out)
	if err != nil || n != length {
		return "", damaged("an LZ4-compressed value")
	}
	return string(out), nil
}
