// Package encoding takes off what a PHP client's options put around a job's text, and puts it on again.
//
// A producer whose phpredis has OPT_SERIALIZER or OPT_COMPRESSION set does not store the text it encoded: phpredis first
// serializes it, then compresses that. The old consumer, with the same options, never notices. [Decode] recognises the
// form of each stored text by its bytes, since one queue may hold several: options change with a deploy, and phpredis
// leaves alone what it cannot compress. [Form.Encode] writes a changed text back as that client would.
//
//	form        stored text                                         recognised by
//	plain       {…}                                                 its first byte
//	php         s:<length>:"<text>";                                beginning, length and end
//	json        "<text, escaped>"                                   being a JSON string
//	igbinary    00 00 00 02, type, length, text                     header and length
//	msgpack     type and length, text                               type and length
//	zstd        a frame                                             its magic number
//	lz4         checksum of the length, length (4 bytes), block     checksum, and a block of just that length
//	lzf         data without a header                               being LZF to its last byte
//
// Only what holds a text is a job. Where a producer gave phpredis an array or an object to serialize, the error says so:
// what to do about it is the producer's, json_encode the job first (CONTRACT 1.2).
//
// Stored texts are bytes that anybody may have written. Nothing here panics on them, and no memory is taken for a text
// before its length is known to be within the limit.
package encoding
