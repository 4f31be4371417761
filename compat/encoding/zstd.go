package encoding

import (
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const zstdMagic = "\x28\xB5\x2F\xFD"

// zstdBlockMax is what a block holds at most, by the format.
const zstdBlockMax = 128 << 10

// The decoder and the encoder keep buffers from call to call and are shared by all: both say that these calls may come
// from anywhere at once. They are made when the first text needs them.
var (
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true)) // never beyond the room that we give
	})
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		// Like ZSTD_compress: no checksum, a frame for nothing, too, and the length in each. Small frames have it
		// only as single segments, and phpredis takes one without for a value that is not compressed.
		return zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithSingleSegment(true))
	})
)

func compressZstd(data string) (string, error) {
	encoder, err := zstdEncoder()
	if err != nil {
		return "", err
	}
	return string(encoder.EncodeAll([]byte(data), nil)), nil
}

func decompressZstd(stored string, limit int) (string, error) {
	if !strings.HasPrefix(stored, zstdMagic) {
		return "", errUnknown
	}
	decoder, err := zstdDecoder()
	if err != nil {
		return "", err
	}
	frame := []byte(stored)
	var head zstd.Header
	if head.Decode(frame) != nil {
		return "", damaged("a zstd-compressed value")
	}
	if head.HasFCS && head.FrameContentSize > uint64(limit) {
		return "", tooLarge(zstdCompression, head.FrameContentSize, limit)
	}
	room := int(head.FrameContentSize)
	if !head.HasFCS {
		room = zstdRoom(frame[head.HeaderSize:])
	}
	data, err := decoder.DecodeAll(frame, make([]byte, 0, min(room, limit)))
	switch {
	case err == nil:
		return string(data), nil
	case room > limit: // or damaged: the decoder does not tell
		return "", tooLarge(zstdCompression, uint64(limit)+1, limit)
	}
	return "", damaged("a zstd-compressed value")
}

// zstdRoom returns how long the blocks are together, decompressed, at most.
func zstdRoom(blocks []byte) int {
	const (
		_ = iota // as it is
		repeated
		compressed
	)
	room := 0
	for len(blocks) >= 3 {
		head := int(blocks[0]) | int(blocks[1])<<8 | int(blocks[2])<<16
		last, kind, size := head&1 != 0, head>>1&3, head>>3
		stored := size
		switch kind {
		case repeated:
			stored = 1
		case compressed:
			size = zstdBlockMax
		}
		room += size
		if blocks = blocks[3:]; last || stored > len(blocks) {
			break
		}
		blocks = blocks[stored:]
	}
	return room
}
