package encoding

import (
	"errors"
	"fmt"
	"strings"

	"sidecar/compat"
)

// errUnknown reports data that is not of the kind a reader looks for. It never leaves the package.
var errUnknown = errors.New("not of this kind")

// Decode returns the text that stored holds, and the form it is stored in. What begins as a JSON object does is returned
// as it is, at once; whether a text is one is for [compat.ParseJob] to say, as it is of every text returned.
//
// It fails, with a compat.ErrNotObject, for what holds no text (a serialized array), what is damaged, what is of no known
// form, and what comes to more than limit bytes, a serializer's few around a compressed text counted. A plain text may
// have any length.
func Decode(stored string, limit int) (text string, form Form, err error) {
	if isPlain(stored) {
		return stored, Form{}, nil
	}
	// The surest sign first: a magic number, a checksum, a length that fits, and no more than being LZF throughout.
	var first error
	for _, c := range []compression{zstdCompression, lz4Compression, 0, lzfCompression} {
		text, form, err := c.unwrap(stored, limit)
		if err == nil {
			return text, form, nil
		}
		if first == nil && !errors.Is(err, errUnknown) {
			first = fmt.Errorf("%w: %w", compat.ErrNotObject, err)
		}
		if first != nil && c != lz4Compression { // one in 256 has LZ4's check byte by chance
			break
		}
	}
	if first == nil {
		_, first = compat.ParseJob(stored) // it is no job, and this says what it looks like
	}
	return "", Form{}, first
}

// isPlain reports whether stored begins as an object does and cannot be anything else.
func isPlain(stored string) bool {
	switch {
	case stored == "":
		return false
	case stored[0] == '{':
		// LZ4 members begin so as well, one in 256, by their check byte. Then byte 4 is the highest of a length, and
		// JSON has none below a tab.
		return len(stored) <= 4 || stored[4] >= '\t'
	case strings.IndexByte(" \t\n\r", stored[0]) < 0:
		return false
	}
	_, err := compat.ParseJob(stored) // LZF data may begin with a tab and a brace
	return err == nil || errors.Is(err, compat.ErrWrapped)
}

// unwrap takes stored for data of this compression. What it cannot be is an errUnknown.
func (c compression) unwrap(stored string, limit int) (string, Form, error) {
	data, err := c.decompress(stored, limit)
	if err != nil {
		return "", Form{}, err
	}
	text, by, err := unserialize(data)
	form := Form{serializer: by, compression: c}
	switch {
	case c != 0 && errors.Is(err, errUnknown):
		text, err = data, nil // no serializer
	case c != 0 && err != nil:
		err = fmt.Errorf("%s-compressed: %w", c, err)
	}
	if err == nil && len(text) > limit {
		err = tooLarge(form, uint64(len(text)), limit)
	}
	if err != nil {
		return "", Form{}, err
	}
	return text, form, nil
}

func (c compression) decompress(stored string, limit int) (string, error) {
	switch c {
	case zstdCompression:
		return decompressZstd(stored, limit)
	case lz4Compression:
		return decompressLZ4(stored, limit)
	case lzfCompression:
		return decompressLZF(stored, limit)
	}
	return stored, nil
}

// unserialize returns the text that data holds by one of the serializers, and that one. Data of none of them is an
// errUnknown.
func unserialize(data string) (string, serializer, error) {
	for _, s := range []serializer{phpSerializer, jsonSerializer, igbinarySerializer, msgpackSerializer} {
		if text, err := s.read(data); !errors.Is(err, errUnknown) {
			return text, s, err
		}
	}
	return "", 0, errUnknown
}

func (s serializer) read(data string) (string, error) {
	switch s {
	case phpSerializer:
		return readPHP(data)
	case jsonSerializer:
		return readJSON(data)
	case igbinarySerializer:
		return readIgbinary(data)
	case msgpackSerializer:
		return readMsgpack(data)
	}
	return "", errUnknown
}

// noText reports a serialized value that is no string.
func noText(what string) error {
	return fmt.Errorf("%s, which is no text: the producer has to json_encode the job before phpredis serializes it", what)
}

func damaged(what string) error {
	return fmt.Errorf("%s that is cut off or damaged", what)
}

func tooLarge(form fmt.Stringer, atLeast uint64, limit int) error {
	return fmt.Errorf("a value in form %s of at least %d bytes once it is unwrapped: decode_limit is %d", form, atLeast, limit)
}
