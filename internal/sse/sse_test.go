package sse_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"sidecar/internal/sse"
)

func TestAStreamIsWhatBrowsersRead(t *testing.T) {
	rec := httptest.NewRecorder()
	s := sse.Open(rec)
	for _, err := range []error{
		s.Retry(3 * time.Second),
		s.Send("part", map[string]string{"text": "two\nlines"}),
		s.Comment("still here"),
		s.Write(sse.Event("end", []byte("{}"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = "retry: 3000\n\nevent: part\ndata: {\"text\":\"two\\nlines\"}\n\n: still here\n\nevent: end\ndata: {}\n\n"
	if got := rec.Body.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := rec.Header().Get("Content-Type"); got != "text/event-stream; charset=utf-8" || !rec.Flushed {
		t.Errorf("Content-Type %q, flushed %v", got, rec.Flushed)
	}
}

func TestWhatIsNoJSONIsNotSent(t *testing.T) {
	rec := httptest.NewRecorder()
	if err := sse.Open(rec).Send("part", func() {}); err == nil || rec.Body.Len() > 0 {
		t.Errorf("sent %q, %v", rec.Body, err)
	}
}
