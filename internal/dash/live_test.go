package dash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidecar/internal/dash"
)

// event is one of a stream.
type event struct {
	name string
	data map[string]any
}

// listen opens a stream at a server over s and returns how to read its next event; ok is false at its end.
func listen(t *testing.T, s dash.Source, path string) (next func() (event, bool), res *http.Response) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(dash.WithViewer(r.Context(), writer), sourceKey{}, s)
		pages().ServeHTTP(w, r.WithContext(ctx))
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(server.Close)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err = server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	return func() (e event, ok bool) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return e, false
			}
			if name, is := strings.CutPrefix(line, "event: "); is {
				e.name = strings.TrimSpace(name)
			}
			if data, is := strings.CutPrefix(line, "data: "); is {
				if err := json.Unmarshal([]byte(data), &e.data); err != nil {
					t.Fatalf("event %s: %v in %q", e.name, err, data)
				}
				return e, true
			}
		}
	}, res
}

func TestAnOpenPageIsSentWhatHasChangedAndNothingElse(t *testing.T) {
	s := &changing{fake: busySource(3)}
	next, res := listen(t, s, "?live=1")
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("Content-Type %q", got)
	}
	seen := map[string]int{}
	for looks := 0; looks < 4; {
		e, ok := next()
		if !ok {
			t.Fatal("the stream has ended")
		}
		switch e.name {
		case "looked":
			looks++
		case "part":
			seen[e.data["id"].(string)]++
		default:
			t.Fatalf("event %v", e)
		}
	}
	if seen["overview-tiles"] < 4 || seen["overview-cards"] != 1 {
		t.Errorf("parts sent: %v; want the tiles, which change, each time and the cards once", seen)
	}
}

// changing has one running job more each time.
type changing struct {
	*fake
	n int64
}

func (c *changing) Overview(ctx context.Context) (dash.Overview, error) {
	o, err := c.fake.Overview(ctx)
	c.n++
	o.Topics = append([]dash.Topic(nil), o.Topics...)
	o.Topics[2].Depths.Running = c.n
	return o, err
}

func TestAStreamTellsTroubleAndGoesOn(t *testing.T) {
	s := busySource(3)
	s.err = dash.ErrRedis
	next, _ := listen(t, s, "audit?live=1")
	for range 2 {
		if e, ok := next(); !ok || e.name != "trouble" || !strings.Contains(e.data["text"].(string), "Redis does not answer") {
			t.Fatalf("got %v, %t", e, ok)
		}
	}
}

func TestMoreStreamsThanThereIsRoomForAreRefusedAndRoomComesBack(t *testing.T) {
	s := busySource(1)
	h := dash.New(s, dash.Options{Streams: 1, Every: time.Millisecond})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	open := func(ctx context.Context) int {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/audit?live=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res.StatusCode
	}
	t.Cleanup(server.CloseClientConnections)
	ctx, cancel := context.WithCancel(t.Context())
	if got := open(ctx); got != http.StatusOK {
		t.Fatalf("the first stream: %d", got)
	}
	if got := open(t.Context()); got != http.StatusServiceUnavailable {
		t.Errorf("the second one: %d, want 503", got)
	}
	cancel()
	for deadline := time.Now().Add(30 * time.Second); open(t.Context()) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the first one is gone, and its room does not come back")
		}
	}
}

func TestAPageThatDoesNotChangeHasNoStream(t *testing.T) {
	for _, path := range []string{"login?live=1", "search?live=1"} {
		if rec := get(t, busySource(1), reader, path); strings.Contains(rec.Header().Get("Content-Type"), "event-stream") {
			t.Errorf("%s is answered with a stream", path)
		}
	}
}

func TestASearchWithoutScriptShowsWhatItHasAndALinkThatGoesOn(t *testing.T) {
	synctest.Test(t, searchWithoutScript) // a page takes as many steps as fit into a moment: on a busy machine that would be fewer
}

func searchWithoutScript(t *testing.T) {
	t.Helper()
	s := busySource(3)
	page := get(t, s, reader, "search?q=ord_&how=prefix").Body.String()
	for _, want := range []string{"ord_web_20261130_788000", "All 1,500 jobs were looked through.", "Groups:", ">ord_web<", `<b>3</b>`, ">ord_app<"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if got := s.asked(); len(got) != 3 || got[0] != `search uuid="" prefix="ord_" topic="" from ""` {
		t.Errorf("asked %v", got)
	}
	for range 40 { // a hundred rows are enough for a page
		s.steps[0].Found = append(s.steps[0].Found, s.steps[0].Found[:3]...)
	}
	page = get(t, s, reader, "search?q=ord_*").Body.String()
	if !strings.Contains(page, `href="search?c=1&amp;found=123&amp;how=prefix&amp;q=ord_"`) || !strings.Contains(page, "500 of about 1,500 jobs") {
		t.Errorf("page does not lead on: %s", page[strings.Index(page, "search-progress"):][:700])
	}
}

func TestASearchStreamsWhatItFindsAndSaysHowFarItIs(t *testing.T) {
	next, _ := listen(t, busySource(3), "search?q=ord_&how=prefix&live=1")
	var names []string
	var last event
	for e, ok := next(); ok; e, ok = next() {
		names, last = append(names, e.name), e
	}
	// The first rows are a part: they replace those of the page.
	if got := strings.Join(names, " "); got != "part part part more part end" {
		t.Errorf("events %s", got)
	}
	if last.data["all"] != true {
		t.Errorf("it ends with %v", last)
	}
}

// streamed are the events of the stream that goes on with a page's search, by the id of what they change, in their order.
func streamed(t *testing.T, s *fake, page string) map[string][]string {
	t.Helper()
	body := get(t, s, reader, page).Body.String()
	stream := regexp.MustCompile(`data-stream="([^"]*)"`).FindStringSubmatch(body)
	if stream == nil {
		t.Fatalf("page %s has no stream", page)
	}
	next, _ := listen(t, s, html.UnescapeString(stream[1]))
	parts := map[string][]string{}
	for e, ok := next(); ok; e, ok = next() {
		if id, is := e.data["id"].(string); is {
			parts[id] = append(parts[id], e.name+" "+e.data["html"].(string))
			if !strings.Contains(body, `id="`+id+`"`) {
				t.Errorf("the page has no place %s", id)
			}
		}
	}
	return parts
}

// longSearch is what a page cannot look through: its first step has found enough.
func longSearch(first, then []dash.JobRow) *fake {
	s := busySource(1)
	s.steps = []dash.SearchStep{
		{Now: fakeNow, Found: first, Next: "1", Looked: 500, Total: 1500},
		{Now: fakeNow, Next: "2", Looked: 1000, Total: 1500},
		{Now: fakeNow, Found: then, Looked: 1500, Total: 1500},
	}
	return s
}

func TestTheStreamOfASearchCountsAndShowsWhatThePageHasFoundToo(t *testing.T) {
	rows := deadJobs().Jobs
	var many []dash.JobRow
	for range 50 { // 100 rows, so that the page leaves the rest to the stream
		many = append(many, rows[:2]...)
	}
	parts := streamed(t, longSearch(many, rows[:2]), "search?q=ord_&how=prefix")
	shown := parts["search-rows"]
	if len(shown) != 2 || !strings.HasPrefix(shown[0], "part ") || strings.Count(shown[0], "<tr>") != 100 || !strings.HasPrefix(shown[1], "more ") || strings.Count(shown[1], "<tr>") != 2 {
		t.Errorf("rows come in %d events", len(shown))
	}
	progress := parts["search-progress"]
	if last := progress[len(progress)-1]; strings.Count(last, "<b>51</b>") != 2 {
		t.Errorf("the groups are at last %s", last)
	}
}

func TestALongSearchSaysAtItsEndThatNothingWasFoundOrNothingMore(t *testing.T) {
	slow := func(found string) map[string][]string {
		s := longSearch(nil, nil)
		s.slow = 60 * time.Millisecond // two steps take longer than a page looks
		return streamed(t, s, "search?q=gone"+found)
	}
	if shown := slow("")["search-rows"]; len(shown) != 1 || !strings.Contains(shown[0], "No job has such an id now.") {
		t.Errorf("rows at its end: %q", shown)
	}
	if shown := slow("&found=100")["search-rows"]; len(shown) != 1 || !strings.Contains(shown[0], "Nothing more was found.") {
		t.Errorf("rows at its end, behind a hundred others: %q", shown)
	}
	s := longSearch(nil, nil)
	s.steps = s.steps[2:]
	if page := get(t, s, reader, "search?q=ord&found=100").Body.String(); strings.Contains(page, "No job has such an id") || !strings.Contains(page, "Nothing more was found.") {
		t.Error("a page behind a hundred jobs says that there is none")
	}
}

func TestASearchThatFindsNothingSaysWhatThatMeans(t *testing.T) {
	s := busySource(3)
	s.steps = []dash.SearchStep{{Now: fakeNow, Looked: 12, Total: 12}}
	if page := get(t, s, reader, "search?q=gone").Body.String(); !strings.Contains(page, "No job has such an id now.") {
		t.Error("page does not say so")
	}
	s.steps[0].ByHand = busySource(1).lines[:1]
	if page := get(t, s, reader, "search?q=gone").Body.String(); !strings.Contains(page, "What was done by hand to it") || !strings.Contains(page, ">dropped<") {
		t.Error("page does not say who has dropped it")
	}
	if page := get(t, s, reader, "search?q=gone&found=1").Body.String(); strings.Contains(page, "What was done by hand to it") {
		t.Error("page says of what an earlier page has found who has dropped it")
	}
}

func TestASearchByTextIsOfferedToThoseWhoMayReadTextsAndAfterAWholeIDWasNotFound(t *testing.T) {
	s := busySource(3)
	s.steps = []dash.SearchStep{{Now: fakeNow, Looked: 12, Total: 12}}
	shown := reader
	shown.ShowPayload = true
	hidden := get(t, s, reader, "search?q=2104").Body.String()
	if !strings.Contains(hidden, `href="search?how=prefix&amp;q=2104"`) || strings.Contains(hidden, "how=text") || strings.Contains(hidden, `value="field"`) {
		t.Errorf("without the right to see texts it is %s", hidden)
	}
	if page := get(t, s, shown, "search?q=2104").Body.String(); !strings.Contains(page, `href="search?how=text&amp;q=2104"`) || !strings.Contains(page, `value="field"`) {
		t.Errorf("with the right to see texts it is %s", page)
	}
	get(t, s, shown, "search?q=order_id%3D2104&how=field")
	if page := get(t, s, shown, "search?q=2104&how=text&t=mail").Body.String(); !strings.Contains(page, "has that in its text") {
		t.Error("page does not say that no text has it")
	}
	if got := s.asked(); got[2] != `search text="" field="order_id=2104" topic=""` || got[3] != `search text="2104" field="" topic="mail"` {
		t.Errorf("asked %q", got)
	}
	if answer := get(t, s, shown, "search?q=order_id&how=field"); answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), "want name=value") {
		t.Errorf("no field: %d", answer.Code)
	}
}

func TestASearchByAnOrdersNumberSaysWhereThatIsFound(t *testing.T) {
	s := busySource(3)
	s.steps = []dash.SearchStep{{Now: fakeNow, Looked: 12, Total: 12}}
	shown := reader
	shown.ShowPayload = true
	for query, command := range map[string]string{
		"order_id%3D2104":    "<code>sidecar find --field order_id=2104</code>",
		"order_id%3D21%2004": "<code>sidecar find --field &#39;order_id=21 04&#39;</code>",
		"2104":               "<code>sidecar find --text 2104</code>",
	} {
		if page := get(t, s, reader, "search?q="+query).Body.String(); !strings.Contains(page, command) {
			t.Errorf("%s: the page lacks %s", query, command)
		}
		if page := get(t, s, reader, "search?found=3&q="+query).Body.String(); strings.Contains(page, "sidecar find") {
			t.Errorf("%s: a page that follows what was found says how it is found", query)
		}
		if page := get(t, s, shown, "search?q="+query).Body.String(); strings.Contains(page, "sidecar find") {
			t.Errorf("%s: those who may search texts are sent to the host", query)
		}
	}
	if page := get(t, s, shown, "search?q=order_id%3D2104").Body.String(); !strings.Contains(page, `href="search?how=field&amp;q=order_id%3D2104"`) {
		t.Error("a field is not offered")
	}
}

func TestASearchShowsWhatItFindsInTheOrderOfRunning(t *testing.T) {
	s := busySource(1)
	row := func(id, key string, due time.Duration) dash.JobRow {
		return dash.JobRow{Ref: id, UUID: id, Topic: "mail", Key: key, Due: fakeNow.Add(due)}
	}
	s.steps = []dash.SearchStep{{Now: fakeNow, Found: []dash.JobRow{row("id_d", dash.KeyDead, 0), row("id_c", dash.KeyPool, time.Hour), row("id_a", dash.KeyPool, time.Minute), row("id_b", dash.KeyPool, 2*time.Minute)}}}
	page := get(t, s, reader, "search?q=id&how=prefix").Body.String()
	at := -1
	for _, id := range []string{"id_a", "id_b", "id_c", "id_d"} {
		next := strings.Index(page, ">"+id+"<")
		if next <= at {
			t.Errorf("%s is at %d, behind %d", id, next, at)
		}
		at = next
	}
}
