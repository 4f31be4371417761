package encoding

import "fmt"

// Form says how a text is stored: which serializer and which compression of phpredis are around it. The zero Form is
// plain. Forms can be compared.
type Form struct {
	serializer  serializer
	compression compression
}

// serializer is what phpredis calls OPT_SERIALIZER.
type serializer uint8

const (
	phpSerializer serializer = iota + 1 // 0: none
	jsonSerializer
	igbinarySerializer
	msgpackSerializer
)

// compression is what phpredis calls OPT_COMPRESSION.
type compression uint8

const (
	zstdCompression compression = iota + 1 // 0: none
	lz4Compression
	lzfCompression
)

// String names the form for logs and errors, as in "igbinary+zstd".
func (f Form) String() string {
	switch {
	case f == Form{}:
		return "plain"
	case f.compression == 0:
		return f.serializer.String()
	case f.serializer == 0:
		return f.compression.String()
	}
	return f.serializer.String() + "+" + f.compression.String()
}

// Encode returns text as a phpredis with the options of this form stores it, byte for byte, and reads it. (Not so for
// zstd and for levels of LZ4, whose bytes are another library's or level's; read they are just so.) It fails for a text that
// the form cannot hold: the json serializer knows no invalid UTF-8.
func (f Form) Encode(text string) (string, error) {
	serialized, err := f.serializer.write(text)
	if err != nil {
		return "", fmt.Errorf("encode as %s: %w", f, err)
	}
	stored, err := f.compression.compress(serialized)
	if err != nil {
		return "", fmt.Errorf("encode as %s: %w", f, err)
	}
	return stored, nil
}

func (s serializer) String() string {
	switch s {
	case phpSerializer:
		return "php"
	case jsonSerializer:
		return "json"
	case igbinarySerializer:
		return "igbinary"
	case msgpackSerializer:
		return "msgpack"
	}
	return "none"
}

func (s serializer) write(text string) (string, error) {
	switch s {
	case phpSerializer:
		return writePHP(text), nil
	case jsonSerializer:
		return writeJSON(text)
	case igbinarySerializer:
		return writeIgbinary(text), nil
	case msgpackSerializer:
		return writeMsgpack(text), nil
	}
	return text, nil
}

func (c compression) String() string {
	switch c {
	case zstdCompression:
		return "zstd"
	case lz4Compression:
		return "lz4"
	case lzfCompression:
		return "lzf"
	}
	return "none"
}

func (c compression) compress(data string) (string, error) {
	switch c {
	case zstdCompression:
		return compressZstd(data)
	case lz4Compression:
		return compressLZ4(data)
	case lzfCompression:
		return compressLZF(data), nil
	}
	return data, nil
}
