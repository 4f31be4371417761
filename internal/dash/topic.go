package dash

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// jobsAPage is how many jobs a page of a key lists.
const jobsAPage = 50

// topicBody is what a topic's page shows.
type topicBody struct {
	TopicView
	Key     string
	Tabs    []tab
	Page    JobsPage
	JobsErr error // why there are no jobs to show, although the rest is known
	Filter  filterForm
	Next    string // link to the page behind this one
	First   string // link to the first one; "" when this is it
	Charts  []chart
	Did     *did
	Path    string // of this page, to come back to after an act
}

// tab leads to one of a topic's keys.
type tab struct {
	Key, Link string
	Count     int64
	Here      bool
}

// filterForm is a filter as a person wrote it, and as it was understood.
type filterForm struct {
	Error, Like, Type, UUID, From, To string

	Filter DeadFilter
}

// newFilter reads the filter of a query or a form. Times are those of zone.
func newFilter(q url.Values, zone *time.Location, w words) (filterForm, error) {
	f := filterForm{
		Error: strings.TrimSpace(q.Get("error")), Like: strings.TrimSpace(q.Get("like")), Type: strings.TrimSpace(q.Get("type")), UUID: strings.TrimSpace(q.Get("uuid")),
		From: q.Get("from"), To: q.Get("to"),
	}
	from, err := timeOf(f.From, zone, w)
	if err != nil {
		return f, err
	}
	to, err := timeOf(f.To, zone, w)
	if err != nil {
		return f, err
	}
	f.Filter = DeadFilter{Error: f.Error, Like: f.Like, Type: f.Type, UUID: f.UUID, From: from, To: to}
	return f, nil
}

// Set reports that the filter leaves something out.
func (f filterForm) Set() bool { return !f.Filter.IsZero() }

// timeForms are how browsers send a time, and how people write one.
var timeForms = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"}

func timeOf(s string, zone *time.Location, w words) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" {
		return time.Time{}, nil
	}
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, zone); err == nil && CheckBound(t) == nil {
			return t, nil
		}
	}
	return time.Time{}, inputError{w.t("error.time", clipped(s, rowText))}
}

func (p *Pages) topic(r *http.Request, v *view) error {
	q := r.URL.Query()
	name := q.Get("t")
	found, err := p.source.Topic(r.Context(), name)
	if err != nil {
		return err
	}
	v.Now, v.Title = found.Now, clipped(name, rowText)
	body := topicBody{TopicView: found, Key: q.Get("k"), Did: didOf(q)}
	if !slices.Contains(Keys, body.Key) {
		body.Key = defaultKey(found.Topic.Depths)
	}
	if body.Filter, err = newFilter(q, p.opts.Timezone, v.words); err != nil {
		return err
	}
	jobs := JobsQuery{Topic: name, Key: body.Key, Cursor: q.Get("c"), Limit: jobsAPage}
	if body.Key == KeyDead {
		jobs.Filter = body.Filter.Filter
	}
	body.Page, body.JobsErr = p.source.Jobs(r.Context(), jobs)
	body.links(q)
	body.Charts = plot{v.words, v.Now.Truncate(time.Minute).Add(time.Minute), p.opts.Timezone}.ofTopic(found.Topic)
	v.Body = body
	return nil
}

// defaultKey is where a person most likely wants to look: at what is dead, else at what waits.
func defaultKey(d Depths) string {
	switch {
	case d.Dead > 0:
		return KeyDead
	case d.Running > 0:
		return KeyRunning
	case d.Ready > 0:
		return KeyReady
	}
	return KeyPool
}

func (b *topicBody) links(q url.Values) {
	counts := map[string]int64{
		KeyPool: b.Topic.Depths.Pool, KeyReady: b.Topic.Depths.Ready, KeyRunning: b.Topic.Depths.Running, KeyDead: b.Topic.Depths.Dead,
	}
	for _, key := range Keys {
		b.Tabs = append(b.Tabs, tab{Key: key, Link: link("topic", "t", b.Topic.Name, "k", key), Count: counts[key], Here: key == b.Key})
	}
	f := b.Filter
	here := func(cursor string) string {
		return link("topic", "t", b.Topic.Name, "k", b.Key, "error", f.Error, "like", f.Like, "type", f.Type, "uuid", f.UUID, "from", f.From, "to", f.To, "c", cursor)
	}
	if b.Page.Next != "" {
		b.Next = here(b.Page.Next)
	}
	if q.Get("c") != "" {
		b.First = here("")
	}
	b.Path = here("")
}

// HasMinutes reports that there is something for charts to show.
func (b topicBody) HasMinutes() bool { return len(b.Topic.Minutes) > 0 }

// ofTopic are the charts of a topic's last hour.
func (p plot) ofTopic(t Topic) []chart {
	count := func(get func(Minute) int64) func(Minute) float64 {
		return func(m Minute) float64 { return float64(get(m)) }
	}
	var outcomes []column
	for _, name := range OutcomeNames {
		outcomes = append(outcomes, column{"o-" + name, "outcome." + name, count(func(m Minute) int64 { return m.Outcomes[name] })})
	}
	return []chart{
		p.lines("flow", short, t.Minutes,
			column{"c-in", "chart.in", count(func(m Minute) int64 { return m.In })},
			column{"c-out", "chart.out", count(func(m Minute) int64 { return m.Out })}),
		p.stacks("outcomes", short, t.Minutes, outcomes...),
		p.lines("depths", short, t.Minutes,
			column{"c-due", "chart.waiting", count(func(m Minute) int64 { return m.Depths.Waiting() })},
			column{"c-running", "chart.running", count(func(m Minute) int64 { return m.Depths.Running })},
			column{"c-dead", "chart.dead", count(func(m Minute) int64 { return m.Depths.Dead })}),
		p.times("duration", t.Minutes,
			column{"c-p50", "chart.p50", func(m Minute) float64 { return float64(m.P50) }},
			column{"c-p99", "chart.p99", func(m Minute) float64 { return float64(m.P99) }}),
		p.times("oldest", t.Minutes,
			column{"c-due", "chart.oldest.line", func(m Minute) float64 { return float64(m.OldestDue) }}),
	}
}
