// Package sse writes server-sent events (the HTML standard's text/event-stream).
package sse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// writeWithin is how long a client may take to read a piece: one that reads nothing is not to keep a stream open.
const writeWithin = 10 * time.Second

// Stream is the answer to one request.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// Open begins a stream. Nothing is sent yet.
func Open(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // nginx would hold it back
	return &Stream{w: w, control: http.NewResponseController(w)}
}

// Event returns an event as it is sent. Data is one line.
func Event(name string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

// Send sends an event with body as JSON. An error of the connection means that nobody listens any more.
func (s *Stream) Send(name string, body any) error {
	data, err := json.Marshal(body) // one line, whatever is in it
	if err != nil {
		return fmt.Errorf("event %s: %w", name, err)
	}
	return s.Write(Event(name, data))
}

// Comment sends what no client takes for an event, so that proxies do not close the stream.
func (s *Stream) Comment(text string) error { return s.Write([]byte(": " + text + "\n\n")) }

// Retry tells the client to wait so long before it asks again when the stream has ended.
func (s *Stream) Retry(wait time.Duration) error {
	return s.Write(fmt.Appendf(nil, "retry: %d\n\n", wait.Milliseconds()))
}

// Write writes b within a deadline of its own: that of the whole answer would end the stream.
func (s *Stream) Write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWithin)) // not every writer has one
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}
