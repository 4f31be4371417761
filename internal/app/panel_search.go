package app

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidecar/compat"
	"sidecar/internal/dash"
	"sidecar/queue"
)

// searchUsual is how many rows are enough for one step.
const searchUsual = 100

// searchAt is where a search goes on: in which topic, and there by which cursor.
type searchAt struct {
	Topic  string `json:"t"`
	Cursor string `json:"c,omitempty"`
	Before int64  `json:"b,omitempty"` // texts looked at in the topics before
}

// Search implements dash.Source. It goes through one topic after the other, by their names, each in bounded steps.
func (p *panel) Search(ctx context.Context, q dash.SearchQuery) (dash.SearchStep, error) {
	g := p.generation()
	if g == nil {
		return dash.SearchStep{}, fmt.Errorf("%w: the sidecar is starting", dash.ErrRedis)
	}
	at, topics, err := p.searchFrom(g, q)
	if err != nil {
		return dash.SearchStep{}, err
	}
	query, err := searchQuery(ctx, q)
	if err != nil {
		return dash.SearchStep{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	if q.Limit <= 0 {
		q.Limit = searchUsual
	}
	step := dash.SearchStep{Found: []dash.JobRow{}, Total: p.searchTotal(q.Topic)}
	for began := time.Now(); len(topics) > 0; {
		t := topics[0]
		at.Topic = t.name
		found, err := p.searchTopic(ctx, g, t, query, at.Cursor)
		if err != nil {
			return dash.SearchStep{}, trouble(err)
		}
		step.Found = append(step.Found, p.rows(g, t, found.Entries)...)
		step.Looked, step.Topic, step.Key, step.Now = at.Before+found.Looked, t.name, string(found.Place), p.moment(found.Now)
		if at.Cursor = found.Cursor; at.Cursor == "" {
			topics, at.Before = topics[1:], step.Looked
		}
		if len(topics) > 0 && (len(step.Found) >= q.Limit || time.Since(began) > stepPatience) {
			at.Topic = topics[0].name
			step.Next = at.text()
			break
		}
	}
	step.Total = max(step.Total, step.Looked)
	if step.Next == "" && len(step.Found) == 0 && q.UUID != "" {
		step.ByHand = p.handOn(ctx, g, q)
	}
	return step, nil
}

// searchQuery is what is looked for. By what texts have in them only those may look to whom they are shown.
func searchQuery(ctx context.Context, q dash.SearchQuery) (queue.Query, error) {
	query := queue.Query{UUID: q.UUID, Prefix: q.Prefix, Text: q.Text}
	if q.Field != "" {
		field, ok := queue.ParseField(q.Field)
		if !ok {
			return query, fmt.Errorf("field %.80q: %w: want name=value", q.Field, dash.ErrNotFound)
		}
		query.Fields = []queue.Field{field}
	}
	if (q.Text != "" || q.Field != "") && !dash.Viewing(ctx).ShowPayload {
		return query, fmt.Errorf("search by text: %w: want admin.show_payload", dash.ErrDenied)
	}
	return query, nil
}

func (p *panel) searchTopic(ctx context.Context, g *generation, t *topic, q queue.Query, cursor string) (queue.Found, error) {
	search, err := t.watch.NewSearch(q, g.cfg.Timezone)
	if err != nil {
		return queue.Found{}, err
	}
	found, err := search.Next(ctx, cursor)
	// As in seen: what is not shown must not be found out by asking for one letter more each time.
	found.Entries = slices.DeleteFunc(found.Entries, func(e queue.Entry) bool {
		return !strings.HasPrefix(p.id(e.UUID), q.Prefix) || (q.Text != "" || len(q.Fields) > 0) && !q.Says(p.mask.JSON(cmp.Or(e.Job, e.Stored)))
	})
	return found, err
}

// searchFrom returns where the search goes on, and the topics that are left.
func (p *panel) searchFrom(g *generation, q dash.SearchQuery) (at searchAt, topics []*topic, err error) {
	topics = g.topics
	if q.Topic != "" {
		_, _, t, err := p.find(q.Topic)
		if err != nil {
			return at, nil, err
		}
		topics = []*topic{t}
	}
	if q.Cursor == "" {
		return at, topics, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	for len(topics) > 0 && topics[0].name != at.Topic {
		topics = topics[1:]
	}
	if err != nil || len(topics) == 0 {
		return at, nil, fmt.Errorf("cursor %.40q: %w: begin without one", q.Cursor, dash.ErrNotFound)
	}
	return at, topics, nil
}

func (at searchAt) text() string {
	data, _ := json.Marshal(at) // texts and a number
	return base64.RawURLEncoding.EncodeToString(data)
}

// handOn is what was done by hand to a job that is nowhere. That it cannot be read is no reason to end the search with an error.
func (p *panel) handOn(ctx context.Context, g *generation, q dash.SearchQuery) (list []dash.AuditLine) {
	lines, err := g.audit().Recent(ctx, queue.AuditKept)
	if err != nil {
		return nil
	}
	names := []string{q.Topic}
	if q.Topic == "" {
		names = nil
		for _, t := range g.topics {
			names = append(names, t.name)
		}
	}
	by := queue.ByHandTo(lines, compat.PlainUUID(q.UUID), names)
	shown := by.Own
	if len(shown) == 0 {
		shown = by.Several[:min(queue.SeveralShown, len(by.Several))]
	}
	return p.auditLines(shown)
}

// searchTotal is how many jobs there are to look through, by the last count.
func (p *panel) searchTotal(topic string) (n int64) {
	for name, r := range p.depths.watch().topics {
		if topic == "" || topic == name {
			n += r.Depths.Pool + r.Depths.Ready + r.Depths.Running + r.Depths.Dead
		}
	}
	return n
}
