package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// look is one thing that people or machines ask the sidecar for.
type look struct {
	name   string
	path   string
	accept string
	event  bool // only the first event of a stream is waited for
	steps  bool // it takes more steps where there is more, or at some times: but each is bounded
}

const (
	html     = "text/html"
	asJSON   = "application/json"
	asEvents = "text/event-stream"
)

// looks are all pages and routes, and deep ones among them for a queue of so many jobs.
func (s *bigShop) looks(t testing.TB, p *instance) []look {
	t.Helper()
	n, api := s.jobs, "/api/v1/topics/"+topic
	list := []look{
		{name: "healthz (control)", path: "/healthz"},
		{name: "overview", path: "/"},
		{name: "overview, by dead", path: "/?sort=dead&p=2"},
		{name: "overview, filtered", path: "/?q=small_1&only=dead&lang=zh"},
		{name: "sidecars and pools", path: "/sidecars"},
		{name: "audit", path: "/audit"},
		{name: "audit of a topic", path: "/audit?t=small_007"},
	}
	for _, place := range []struct {
		key  string
		deep int
	}{{"pool", n / 2}, {"ready", n / 100}, {"running", n / 2000}, {"dead", n / 10}} {
		key, deep := place.key, place.deep
		list = append(list,
			look{name: "topic, " + key, path: "/topic?t=" + topic + "&k=" + key, steps: key == "dead"}, // causes are counted now and then
			look{name: "topic, " + key + " deep", path: fmt.Sprintf("/topic?t=%s&k=%s&c=%d", topic, key, deep)},
			look{name: "job in " + key, path: s.jobPath(t, p, topic, key, 0)},
			look{name: "job in " + key + " deep", path: s.jobPath(t, p, topic, key, deep)})
	}
	return append(list,
		look{name: "list, ready deep", path: fmt.Sprintf("/topic?t=%s&k=ready&c=%d", bigList, n/20)},
		look{name: "list, dead deep", path: fmt.Sprintf("/topic?t=%s&k=dead&c=%d", bigList, n/20)},
		look{name: "dead, filter with hits", path: "/topic?t=" + topic + "&k=dead&error=supplier"},
		look{name: "dead, filter without", path: "/topic?t=" + topic + "&k=dead&error=nosuch", steps: true},
		look{name: "search, uuid", path: fmt.Sprintf("/search?q=ord_web_d%07d", n/10), steps: true},
		look{name: "search, prefix", path: "/search?q=ord_web&how=prefix", steps: true},
		look{name: "search, none found", path: "/search?q=nosuch", steps: true},
		look{name: "API overview", path: "/api/v1/overview", accept: asJSON},
		look{name: "API topics", path: "/api/v1/topics", accept: asJSON},
		look{name: "API topic", path: api, accept: asJSON},
		look{name: "API jobs, 200 deep", path: fmt.Sprintf("%s/jobs?key=pool&limit=200&cursor=%d", api, n/2), accept: asJSON},
		look{name: "API search step", path: "/api/v1/search?uuid=nosuch", accept: asJSON, steps: true},
		look{name: "API audit", path: "/api/v1/audit", accept: asJSON},
		look{name: "API alerts", path: "/api/v1/alerts", accept: asJSON},
		look{name: "metrics", path: "/metrics", accept: "text/plain"},
		look{name: "live overview, first event", path: "/?live=1", accept: asEvents, event: true},
		look{name: "live topic, first event", path: "/topic?live=1&t=" + topic + "&k=dead", accept: asEvents, event: true},
		look{name: "API events, first", path: "/api/v1/events", accept: asEvents, event: true},
		look{name: "live search, first event", path: "/search?live=1&q=nosuch", accept: asEvents, event: true, steps: true},
	)
}

// jobPath is the page of the first job of a key behind so many.
func (s *bigShop) jobPath(t testing.TB, p *instance, name, key string, behind int) string {
	t.Helper()
	status, body, err := p.get(fmt.Sprintf("/api/v1/topics/%s/jobs?key=%s&limit=1&cursor=%d", name, key, behind))
	var page struct{ Jobs []struct{ Ref string } }
	if err == nil {
		err = json.Unmarshal([]byte(body), &page)
	}
	if err != nil || len(page.Jobs) == 0 {
		t.Fatalf("jobs of %s from %d on: %d %s %v", key, behind, status, body, err)
	}
	return fmt.Sprintf("/job?t=%s&ref=%s", name, page.Jobs[0].Ref)
}

// seen is how one look went.
type seen struct {
	first, whole time.Duration // until the first byte of the answer, until its last one
	size         int
	events       int
}

// see asks for l once.
func (p *instance) see(l look) (seen, error) {
	p.mu.Lock()
	addr := p.admin
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+l.path, nil)
	if err != nil {
		return seen{}, err
	}
	if req.Header.Set("Accept", l.accept); l.accept == "" {
		req.Header.Set("Accept", html)
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return seen{}, err
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err != nil {
		return seen{}, fmt.Errorf("%s: %w", l.path, err)
	}
	s := seen{first: time.Since(began)}
	err = s.read(body, l.event)
	s.whole = time.Since(began)
	if resp.StatusCode != http.StatusOK && err == nil {
		err = fmt.Errorf("%s: status %d", l.path, resp.StatusCode)
	}
	return s, err
}

// read reads the answer to its end, or until an event with data has come.
func (s *seen) read(body *bufio.Reader, first bool) error {
	for {
		line, err := body.ReadSlice('\n')
		s.size += len(line)
		if bytes.HasPrefix(line, []byte("data: ")) {
			s.events++
		}
		switch {
		case err == io.EOF, first && s.events > 0:
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
