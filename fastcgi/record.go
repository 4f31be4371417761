package fastcgi

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// recordType is a FastCGI record's type, of those that pass here.
type recordType byte

// The record types.
const (
	endRequest recordType = 3
	stdin      recordType = 5
	stdout     recordType = 6
	stderr     recordType = 7
)

const (
	recordVersion   = 1
	recordHeaderLen = 8
)

// errNotFastCGI reports an answer that no FastCGI server gives.
var errNotFastCGI = errors.New("the answer is not FastCGI")

// recordHeader is the head of a record.
type recordHeader struct {
	kind    recordType
	length  int
	padding int
}

// readHeader reads the next record's head.
func readHeader(r *bufio.Reader) (recordHeader, error) {
	b, err := r.Peek(recordHeaderLen)
	if len(b) > 0 && b[0] != recordVersion {
		return recordHeader{}, fmt.Errorf("%w: it begins with %q", errNotFastCGI, b)
	}
	if err != nil {
		return recordHeader{}, err
	}
	h := recordHeader{kind: recordType(b[1]), length: int(binary.BigEndian.Uint16(b[4:])), padding: int(b[6])}
	_, err = r.Discard(recordHeaderLen)
	return h, err
}

// readContent gives the record's content to take, piece by piece, without holding it.
func readContent(r *bufio.Reader, h recordHeader, take func([]byte)) error {
	for left := h.length; left > 0; {
		if _, err := r.Peek(1); err != nil { // fills the buffer with what is there
			return noEOF(err)
		}
		piece, _ := r.Peek(min(left, r.Buffered()))
		take(piece)
		n, _ := r.Discard(len(piece))
		left -= n
	}
	_, err := r.Discard(h.padding)
	return noEOF(err)
}

// noEOF makes an end in the middle of a record what it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// endRecord is an END_REQUEST as gofast likes to see it.
func endRecord() []byte {
	record := [recordHeaderLen + 8]byte{recordVersion, byte(endRequest), 0, 1, 0, 8}
	return record[:]
}

// endsStdin reports that p, one whole record as gofast writes them, is the empty STDIN that ends a request.
func endsStdin(p []byte) bool {
	return len(p) >= recordHeaderLen && recordType(p[1]) == stdin && p[4] == 0 && p[5] == 0
}
