package dash

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// topicsAPage is how many topics a page of the overview lists, and topFew how many its short lists.
const (
	topicsAPage = 50
	topFew      = 5
)

// overviewBody is what the overview shows.
type overviewBody struct {
	Overview
	Problems []Problem
	Sum      Depths
	Recent   Recent
	Oldest   Topic // the one with the oldest due job
	Backlogs []Topic
	Dying    []Topic
	Table    topicTable
}

// topicTable is the list of topics as it was asked for.
type topicTable struct {
	Rows           []Topic
	All            int // topics there are
	Found          int // of them that are asked for
	Filter         string
	Only           string // "", wrong or paused
	Sort           string
	Page, Pages    int
	Previous, Next string
	Columns        []sortLink
}

// sortLink is the head of a column.
type sortLink struct {
	Name, Link string
	Sorted     bool
	Number     bool
}

// topicOrders are the orders that ?sort= knows: the largest first but for the name.
var topicOrders = map[string]func(a, b Topic) int{
	"worst":   worstFirst,
	"name":    func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) },
	"pool":    func(a, b Topic) int { return cmp.Compare(b.Depths.Pool, a.Depths.Pool) },
	"due":     func(a, b Topic) int { return cmp.Compare(b.Depths.Due, a.Depths.Due) },
	"ready":   func(a, b Topic) int { return cmp.Compare(b.Depths.Ready, a.Depths.Ready) },
	"running": func(a, b Topic) int { return cmp.Compare(b.Depths.Running, a.Depths.Running) },
	"dead":    func(a, b Topic) int { return cmp.Compare(b.Depths.Dead, a.Depths.Dead) },
	"oldest":  func(a, b Topic) int { return cmp.Compare(b.OldestDue, a.OldestDue) },
	"flow":    func(a, b Topic) int { return cmp.Compare(b.Recent.OutPerMinute, a.Recent.OutPerMinute) },
	"failing": func(a, b Topic) int { return cmp.Compare(b.failing(), a.failing()) },
	"slow":    func(a, b Topic) int { return cmp.Compare(b.Recent.P99, a.Recent.P99) },
}

// topicColumns are the heads of the table: the name of each and the order that it leads to.
var topicColumns = []string{"name", "pool", "due", "ready", "running", "dead", "oldest", "flow", "failing", "slow"}

func worstFirst(a, b Topic) int {
	if a.Wrong() != b.Wrong() {
		if a.Wrong() {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(b.OldestDue, a.OldestDue),
		cmp.Compare(b.Depths.Waiting(), a.Depths.Waiting()),
		cmp.Compare(b.Recent.OutPerMinute, a.Recent.OutPerMinute),
		cmp.Compare(a.Name, b.Name),
	)
}

// failing is the share of runs that were not done.
func (t Topic) failing() float64 {
	total := t.Recent.Outcomes.Total()
	if total == 0 {
		return 0
	}
	return 1 - float64(t.Recent.Outcomes["done"]+t.Recent.Outcomes["deferred"])/float64(total)
}

func (p *Pages) overview(r *http.Request, v *view) error {
	o, err := p.source.Overview(r.Context())
	if err != nil {
		return err
	}
	v.Now, v.Title = o.Now, v.words.t("overview.title")
	body := overviewBody{Overview: o, Problems: o.Problems(), Table: newTopicTable(o.Topics, r.URL.Query())}
	for _, t := range o.Topics {
		body.add(t)
	}
	body.Backlogs = top(o.Topics, func(t Topic) int64 { return t.Depths.Waiting() })
	body.Dying = top(o.Topics, func(t Topic) int64 { return t.Recent.DeadPerHour })
	v.Body = body
	return nil
}

// add counts t in.
func (b *overviewBody) add(t Topic) {
	b.Sum.Pool += t.Depths.Pool
	b.Sum.Due += t.Depths.Due
	b.Sum.Ready += t.Depths.Ready
	b.Sum.Running += t.Depths.Running
	b.Sum.Dead += t.Depths.Dead
	b.Recent.InPerMinute += t.Recent.InPerMinute
	b.Recent.OutPerMinute += t.Recent.OutPerMinute
	b.Recent.DeadPerHour += t.Recent.DeadPerHour
	if b.Recent.Outcomes == nil {
		b.Recent.Outcomes = Outcomes{}
	}
	for name, n := range t.Recent.Outcomes {
		b.Recent.Outcomes[name] += n
	}
	if t.OldestDue > b.Oldest.OldestDue {
		b.Oldest = t
	}
}

// top returns the few topics that have most of something, and none that have nothing.
func top(topics []Topic, of func(Topic) int64) []Topic {
	some := slices.DeleteFunc(slices.Clone(topics), func(t Topic) bool { return of(t) == 0 })
	slices.SortStableFunc(some, func(a, b Topic) int { return cmp.Compare(of(b), of(a)) })
	return some[:min(topFew, len(some))]
}

// newTopicTable filters, sorts and pages topics as q says. What q says wrongly is as if it were not said.
func newTopicTable(topics []Topic, q url.Values) topicTable {
	t := topicTable{All: len(topics), Filter: q.Get("q"), Only: q.Get("only"), Sort: q.Get("sort")}
	if topicOrders[t.Sort] == nil {
		t.Sort = "worst"
	}
	rows := slices.DeleteFunc(slices.Clone(topics), func(topic Topic) bool { return !t.wants(topic) })
	slices.SortStableFunc(rows, func(a, b Topic) int {
		return cmp.Or(topicOrders[t.Sort](a, b), cmp.Compare(a.Name, b.Name))
	})
	t.Found = len(rows)
	t.Pages = max(1, (len(rows)+topicsAPage-1)/topicsAPage)
	t.Page, _ = strconv.Atoi(q.Get("p"))
	t.Page = min(max(1, t.Page), t.Pages)
	t.Rows = rows[(t.Page-1)*topicsAPage : min(t.Page*topicsAPage, len(rows))]
	for _, name := range topicColumns {
		t.Columns = append(t.Columns, sortLink{
			Name: name, Link: t.link(name, 1), Sorted: name == t.Sort, Number: name != "name",
		})
	}
	if t.Page > 1 {
		t.Previous = t.link(t.Sort, t.Page-1)
	}
	if t.Page < t.Pages {
		t.Next = t.link(t.Sort, t.Page+1)
	}
	return t
}

func (t topicTable) wants(topic Topic) bool {
	if !strings.Contains(strings.ToLower(topic.Name), strings.ToLower(strings.TrimSpace(t.Filter))) {
		return false
	}
	switch t.Only {
	case "wrong":
		return topic.Wrong()
	case "paused":
		return topic.State.Paused != nil || topic.State.Breaker != nil
	case "dead":
		return topic.Depths.Dead > 0
	}
	return true
}

// link leads to the same table in another order or on another page.
func (t topicTable) link(order string, page int) string {
	pages := ""
	if page > 1 {
		pages = strconv.Itoa(page)
	}
	return link("", "q", t.Filter, "only", t.Only, "sort", order, "p", pages)
}
