package dash

import (
	"net/http"
	"time"

	"sidecar/internal/sse"
)

// streamRetry is how long the browser waits before it comes back.
const streamRetry = 3 * time.Second

// fresh is an event of a stream: the new inside of a part of the page.
type fresh struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// stream keeps an open page fresh: it looks again and again, and sends the parts that have changed.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request, name string, build builder) {
	parts := pages[name].parts
	if len(parts) == 0 {
		http.Error(w, "this page does not change by itself", http.StatusNotFound)
		return
	}
	out, leave := p.openStream(w)
	if out == nil {
		return
	}
	defer leave()
	sent := map[string]string{}
	for range sse.Rounds(r.Context(), p.opts.Every) {
		if p.sendChanges(out, r, name, build, sent) != nil {
			return
		}
	}
}

// sendChanges looks once and sends what differs from sent, and that it has looked, which keeps proxies from closing the
// stream. Its error is that of the connection: what the Source has to say against it goes to the page as an event, and the
// next look may be luckier.
func (p *Pages) sendChanges(out *sse.Stream, r *http.Request, name string, build builder, sent map[string]string) error {
	v := viewOf(r)
	if err := build(r, &v); err != nil {
		return p.trouble(out, r, v, err)
	}
	for _, part := range pages[name].parts {
		html, err := p.part(name, part, v)
		if err != nil {
			return err
		}
		if sent[part] == html {
			continue
		}
		if err := out.Send("part", fresh{ID: partID(part), HTML: html}); err != nil {
			return err
		}
		sent[part] = html
	}
	made, err := p.part(name, "made", v)
	if err != nil {
		return err
	}
	return out.Send("looked", map[string]string{"at": v.Now.In(p.opts.Timezone).Format("15:04:05"), "made": made})
}

// openStream begins a stream, if there is room for one more. leave gives the room back.
func (p *Pages) openStream(w http.ResponseWriter) (out *sse.Stream, leave func()) {
	select {
	case p.streams <- struct{}{}:
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "so many pages are kept fresh already: ask again later", http.StatusServiceUnavailable)
		return nil, nil
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	out = sse.Open(w)
	if out.Retry(streamRetry) != nil {
		<-p.streams
		return nil, nil
	}
	return out, func() { <-p.streams }
}

// trouble sends what the Source has to say against a look.
func (p *Pages) trouble(out *sse.Stream, r *http.Request, v view, err error) error {
	status, cause := p.status(r, err)
	return out.Send("trouble", map[string]string{"text": v.words.t(errorTitle(status)) + " " + clipped(cause, rowText)})
}
