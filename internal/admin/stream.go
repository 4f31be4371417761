package admin

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"sidecar/internal/dash"
	"sidecar/internal/sse"
)

const (
	streamEvery = 2 * time.Second
	streamQuiet = 15 // looks without a change after which a comment keeps proxies from closing the stream
)

func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// events sends the overview, or with ?topic= one topic, and then what changes of it. However many streams there are,
// they all show the source's one reading.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	topic := r.URL.Query().Get("topic")
	if topic != "" {
		if _, err := a.source.Topic(r.Context(), topic); err != nil {
			fail(w, err)
			return
		}
	}
	out := sse.Open(w)
	sent, quiet := changes{topic: topic, last: make(map[string][]byte)}, 0
	for range sse.Rounds(r.Context(), a.every) {
		changed, err := a.sendChanges(out, r, &sent)
		if quiet++; changed {
			quiet = 0
		}
		if err == nil && quiet == streamQuiet {
			quiet, err = 0, out.Comment("nothing new")
		}
		if err != nil {
			return
		}
	}
}

// changes is what a stream has sent so far.
type changes struct {
	topic string // the one that it is about; "" = all
	last  map[string][]byte
}

// sendChanges looks once. Its error is that of the connection.
func (a *api) sendChanges(out *sse.Stream, r *http.Request, c *changes) (changed bool, err error) {
	seen := a.look(r.Context())
	if seen.err != nil {
		return true, out.Send("trouble", refusal{Text: seen.err.Error()})
	}
	for _, e := range seen.events {
		if c.topic != "" && e.topic != c.topic || bytes.Equal(c.last[e.topic], e.compared) {
			continue
		}
		changed, c.last[e.topic] = true, e.compared
		if err := out.Write(e.text); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// streamSearch goes through all there is, step by step, and sends each.
func (a *api) streamSearch(w http.ResponseWriter, r *http.Request, query dash.SearchQuery) {
	out := sse.Open(w)
	for {
		step, err := a.source.Search(r.Context(), query)
		if err != nil {
			_ = out.Send("trouble", refusal{Text: err.Error()})
			return
		}
		if out.Send("step", step) != nil || step.Next == "" || r.Context().Err() != nil {
			return
		}
		query.Cursor = step.Next
	}
}
