package dash

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/internal/shell"
	"sidecar/internal/sse"
	"sidecar/internal/stage"
)

// The bounds of a search: how long a page without JavaScript looks before it is shown, how many rows a stream shows
// before it waits to be asked for more, and how many groups are told.
const (
	searchPatience = 100 * time.Millisecond // one more step may follow it, and all is to be there within 300
	searchRows     = 500
	searchStepRows = 100
	groupsShown    = 12
)

// searchBody is what the search page shows.
type searchBody struct {
	Text   string
	How    string // one of the ways
	Topic  string
	Topics []string
	Asked  bool
	Before int64      // how many the pages before this one have shown
	Step   SearchStep // Found is all that was found for this page
	Groups []group
	On     string // link that goes on where this page stopped
	Stream string // link to the stream of the same, from where this page began: its rows replace the page's
}

// group counts what was found by the beginning of its id: ord_web_1 and ord_web_2 are ord_web.
type group struct {
	Name  string
	Count int64
	Link  string
}

// Ways to search.
const (
	byID     = "id"
	byPrefix = "prefix"
	byField  = "field"
	byText   = "text"
)

func newSearch(q url.Values) (searchBody, SearchQuery) {
	b := searchBody{Text: strings.TrimSpace(q.Get("q")), How: byID, Topic: q.Get("t")}
	b.Asked = b.Text != ""
	before, _ := strconv.ParseInt(q.Get("found"), 10, 64)
	b.Before = max(0, before)
	query := SearchQuery{Topic: b.Topic, Cursor: q.Get("c"), Limit: searchStepRows}
	text, starred := strings.CutSuffix(b.Text, "*")
	switch how := q.Get("how"); {
	case how == byText:
		b.How, query.Text = how, b.Text
	case how == byField:
		b.How, query.Field = how, b.Text
	case how == byPrefix || starred:
		b.How, b.Text, query.Prefix = byPrefix, text, text
		b.Asked = text != ""
	default:
		query.UUID = b.Text
	}
	return b, query
}

// check says what is wrong with what was typed.
func (b searchBody) check(w words) error {
	if name, value, found := strings.Cut(b.Text, "="); b.Asked && b.How == byField && (!found || value == "" || slices.Contains(strings.Split(name, "."), "")) {
		return inputError{w.t("error.field", clipped(b.Text, rowText))}
	}
	return nil
}

// Others are the other ways in which what was not found by its whole id can be looked for.
func (b searchBody) Others(texts bool) (others []tab) {
	if b.How != byID || b.Before > 0 {
		return nil
	}
	ways := []string{byPrefix}
	if texts && b.isField() {
		ways = append(ways, byField)
	}
	if texts {
		ways = append(ways, byText)
	}
	for _, how := range ways {
		others = append(others, tab{Key: how, Link: link("search", "q", b.Text, "how", how, "t", b.Topic)})
	}
	return others
}

// Command looks on the command line for what is in no id, and may be in a text: where pages do not show texts, they do not
// search them either.
func (b searchBody) Command() string {
	flag := "--text"
	if b.isField() {
		flag = "--field"
	}
	return "sidecar find " + flag + " " + shell.Word(b.Text)
}

func (b searchBody) isField() bool { return strings.Index(b.Text, "=") > 0 }

// link leads to the same search from cursor on, behind what so many pages and rows have shown.
func (b searchBody) link(cursor string, shown int64, live string) string {
	found := ""
	if shown > 0 {
		found = strconv.FormatInt(shown, 10)
	}
	return link("search", "q", b.Text, "how", b.How, "t", b.Topic, "c", cursor, "found", found, "live", live)
}

func (p *Pages) searchPage(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("live") {
		p.streamSearch(w, r)
		return
	}
	p.page("search", p.search)(w, r)
}

// search looks for as long as a person waits gladly, and leaves the rest to a link, or to the stream behind it.
func (p *Pages) search(r *http.Request, v *view) error {
	body, query := newSearch(r.URL.Query())
	v.Title = v.words.t("search.title")
	if o, err := p.source.Overview(r.Context()); err == nil { // without it the page only has no list to choose from
		for _, t := range o.Topics {
			body.Topics = append(body.Topics, t.Name)
		}
	}
	if err := body.check(v.words); err != nil {
		return err
	}
	if body.Asked {
		if err := p.searchFor(r.Context(), searchPatience, &body, query); err != nil {
			return err
		}
		v.Now = body.Step.Now
	}
	v.Body = body
	return nil
}

// searchFor takes steps until patience is over, enough was found, or all was looked through.
func (p *Pages) searchFor(ctx context.Context, patience time.Duration, body *searchBody, query SearchQuery) error {
	begun, from := time.Now(), query.Cursor
	var found []JobRow
	for {
		step, err := p.source.Search(ctx, query)
		if err != nil {
			return err
		}
		found = append(found, step.Found...)
		step.Found, query.Cursor = found, step.Next
		body.Step = step
		if step.Next == "" || len(found) >= searchStepRows || time.Since(begun) > patience {
			break
		}
	}
	inOrder(found)
	body.Groups = body.groups(countGroups(map[string]int64{}, found))
	body.forget(int64(len(found)))
	if body.Step.Next != "" {
		body.On = body.link(body.Step.Next, body.Before+int64(len(found)), "")
		body.Stream = body.link(from, body.Before, "1")
	}
	return nil
}

// forget leaves out what became of the job by hand where so many rows, or pages before this one, have shown where it is.
func (b *searchBody) forget(rows int64) {
	if b.Before+rows > 0 {
		b.Step.ByHand = nil
	}
}

// streamSearch begins where the page began, goes on behind it, step by step, and sends what each finds.
func (p *Pages) streamSearch(w http.ResponseWriter, r *http.Request) {
	body, query := newSearch(r.URL.Query())
	if err := body.check(p.words(r)); err != nil || !body.Asked {
		http.Error(w, "want q", http.StatusBadRequest)
		return
	}
	out, leave := p.openStream(w)
	if out == nil {
		return
	}
	defer leave()
	v := p.newView(w, r)
	counts, rows := map[string]int64{}, 0
	for r.Context().Err() == nil {
		step, err := p.source.Search(r.Context(), query)
		if err != nil {
			_ = p.trouble(out, r, v, err)
			return
		}
		inOrder(step.Found)
		first := rows == 0
		rows += len(step.Found)
		query.Cursor, body.Step, v.Now = step.Next, step, step.Now
		body.Groups, body.On = body.groups(countGroups(counts, step.Found)), ""
		body.forget(int64(rows))
		enough := step.Next != "" && rows >= searchRows
		if enough {
			body.On = body.link(step.Next, body.Before+int64(rows), "")
		}
		v.Body = body
		if p.sendRows(out, v, step, first) != nil || p.sendPart(out, v, "part", "search.progress") != nil {
			return
		}
		if step.Next == "" || enough {
			_ = out.Send("end", map[string]bool{"all": step.Next == ""})
			return
		}
	}
}

// sendRows sends the rows of a step. The first ones replace what the page has found; so does the word that there are none.
func (p *Pages) sendRows(out *sse.Stream, v view, step SearchStep, first bool) error {
	switch {
	case first && (len(step.Found) > 0 || step.Next == ""):
		return p.sendPart(out, v, "part", "search.rows")
	case len(step.Found) > 0:
		return p.sendPart(out, v, "more", "search.rows")
	}
	return nil
}

// sendPart sends a part of the page as an event: "part" replaces what is there, "more" comes behind it.
func (p *Pages) sendPart(out *sse.Stream, v view, event, part string) error {
	html, err := p.part("search", part, v)
	if err != nil {
		return err
	}
	return out.Send(event, fresh{ID: partID(part), HTML: html})
}

// inOrder puts rows in the order in which their jobs run.
func inOrder(rows []JobRow) {
	stage.InOrder(rows, func(row JobRow) stage.Turn {
		return stage.Turn{Topic: row.Topic, Place: row.Key, Never: row.Never, Due: row.Due, Ahead: row.Ahead, Lease: row.Lease, Died: row.Died}
	})
}

// countGroups adds found to counts.
func countGroups(counts map[string]int64, found []JobRow) map[string]int64 {
	for _, row := range found {
		if name := groupOf(row.UUID); name != "" {
			counts[name]++
		}
	}
	return counts
}

// groups are the largest of counts.
func (b searchBody) groups(counts map[string]int64) (groups []group) {
	if b.How != byPrefix {
		return nil
	}
	for name, n := range counts {
		groups = append(groups, group{Name: name, Count: n, Link: link("search", "q", name+"_", "how", byPrefix, "t", b.Topic)})
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return groups[:min(groupsShown, len(groups))]
}

// groupOf is the beginning of an id that its like have in common: its words up to the first one with a digit in it.
func groupOf(id string) string {
	parts := strings.Split(id, "_")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789") || i == len(parts)-1 {
			return strings.Join(parts[:i], "_")
		}
	}
	return ""
}
