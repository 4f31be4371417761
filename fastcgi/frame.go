package fastcgi

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"sidecar/compat"
)

// frameKind is the first byte of a frame between the sidecar and a resident worker's bridge.
type frameKind byte

// The kinds: from the bridge, then to it.
const (
	helloFrame   frameKind = 'H'
	readyFrame   frameKind = 'R'
	verdictFrame frameKind = 'V'
	deadFrame    frameKind = 'D'
	byeFrame     frameKind = 'B'
	pongFrame    frameKind = 'P'

	jobFrame  frameKind = 'J'
	pingFrame frameKind = 'C'
	endFrame  frameKind = 'E'
)

const (
	// frameLimit bounds a frame in both directions: what a job's text and a verdict with its output may take.
	frameLimit = 32 << 20

	frameLength   = 4               // bytes that say how long the rest is
	frameHead     = frameLength + 1 // and the kind
	frameID       = 4               // a job's id in front of a job, verdict or dead frame's body
	frameBuffered = 32 << 10
)

// errFrame reports bytes that no bridge of ours sends.
var errFrame = errors.New("the worker does not speak the protocol")

// appendFrame appends a frame with a short body.
func appendFrame(buf []byte, kind frameKind, body string) []byte {
	buf = binary.BigEndian.AppendUint32(buf, uint32(1+len(body)))
	buf = append(buf, byte(kind))
	return append(buf, body...)
}

// appendJob appends the frame of a job, with what names the code for it, if that is not the same for all. Its text
// goes out as it is.
func appendJob(buf []byte, id uint32, job compat.Job, target string, trace compat.TraceContext) []byte {
	begin := len(buf)
	buf = append(buf, 0, 0, 0, 0, byte(jobFrame))
	buf = binary.BigEndian.AppendUint32(buf, id)
	buf = append(buf, 0, 0)
	header := len(buf)
	buf = append(buf, `{"uuid":"`...)
	buf = append(buf, job.PlainUUID()...) // nothing in it that JSON would escape
	buf = append(buf, `","tries":`...)
	buf = strconv.AppendInt(buf, int64(job.Tries()), 10)
	buf = append(buf, `,"crashes":`...)
	buf = strconv.AppendInt(buf, int64(job.Crashes()), 10)
	buf = append(buf, target...)
	buf = appendTrace(buf, trace)
	buf = append(buf, '}')
	binary.BigEndian.PutUint16(buf[header-2:], uint16(len(buf)-header))
	buf = append(buf, job.Raw()...)
	binary.BigEndian.PutUint32(buf[begin:], uint32(len(buf)-begin-frameLength))
	return buf
}

// appendTrace appends the fields of a job's header that say which trace its run is part of.
func appendTrace(buf []byte, t compat.TraceContext) []byte {
	for _, f := range []struct{ name, value string }{{"traceparent", t.Parent}, {"tracestate", t.State}} {
		if f.value == "" || len(f.value) > maxTrace {
			continue
		}
		text, err := json.Marshal(f.value)
		if err != nil { // a string always can be
			continue
		}
		buf = append(append(append(buf, `,"`...), f.name...), `":`...)
		buf = append(buf, text...)
	}
	return buf
}

// maxTrace is how long a traceparent or tracestate may be to be passed on: the standard asks for no more.
const maxTrace = 512

// jobOverhead is more than a job's frame takes beside its text, targetOverhead more than the name of its code does, every
// byte of which JSON may have to spell in six.
const (
	jobOverhead    = 512 + 2*6*maxTrace
	targetOverhead = 6*(maxCall+maxPath) + 64
)

// frame is one that was received. Its body is good until the next one is read.
type frame struct {
	kind frameKind
	body []byte
}

// job splits the id off a verdict's body.
func (f frame) job() (id uint32, rest []byte, err error) {
	if len(f.body) < frameID {
		return 0, nil, fmt.Errorf("%w: a frame of kind %q with %d bytes, want a job's id of %d", errFrame, byte(f.kind), len(f.body), frameID)
	}
	return binary.BigEndian.Uint32(f.body), f.body[frameID:], nil
}

// frameReader reads frames. A frame of the usual size is never copied.
type frameReader struct {
	in    *bufio.Reader
	read  int    // bytes of in that the last frame still lies in
	limit uint32 // of a frame
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, frameBuffered), limit: frameLimit}
}

// next waits for a frame and returns it.
func (f *frameReader) next() (frame, error) {
	f.drop()
	head, err := f.in.Peek(frameHead)
	if err != nil {
		if len(head) > 0 {
			err = noEOF(err)
		}
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(head)
	if size < 1 || size > f.limit {
		return frame{}, fmt.Errorf("%w: a frame of %d bytes, want 1 to %d", errFrame, size, f.limit)
	}
	whole := frameLength + int(size)
	if whole <= f.in.Size() {
		text, err := f.in.Peek(whole)
		f.read = len(text)
		if err != nil {
			return frame{}, noEOF(err)
		}
		return frame{frameKind(text[frameLength]), text[frameHead:]}, nil
	}
	return f.long(frameKind(head[frameLength]), int64(size)-1)
}

// long reads a frame that does not fit into the buffer. Its memory grows with what arrives, not with what is announced.
func (f *frameReader) long(kind frameKind, size int64) (frame, error) {
	_, _ = f.in.Discard(frameHead) // it was peeked at
	body, err := io.ReadAll(io.LimitReader(f.in, size))
	if err == nil && int64(len(body)) < size {
		err = io.ErrUnexpectedEOF
	}
	return frame{kind, body}, err
}

// more reports that another whole frame has arrived already.
func (f *frameReader) more() bool {
	f.drop()
	if f.in.Buffered() < frameHead {
		return false
	}
	head, _ := f.in.Peek(frameHead)
	return uint64(f.in.Buffered()) >= frameLength+uint64(binary.BigEndian.Uint32(head))
}

func (f *frameReader) drop() {
	_, _ = f.in.Discard(f.read) // it was peeked at
	f.read = 0
}
