package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidecar/compat"
	"sidecar/fastcgi"
	"sidecar/internal/dash"
	"sidecar/internal/mask"
	"sidecar/internal/undo"
	"sidecar/queue"
)

const (
	jobsUsual = 50
	jobsMost  = 200

	// pagePatience bounds what a page waits for Redis. One that hangs is told of, and not waited for.
	pagePatience = time.Second

	// stepPatience is how long one page or step of a search goes on looking. A page is to be there at once.
	stepPatience = 150 * time.Millisecond
)

// trouble says whose fault an error of Redis is.
func trouble(err error) error {
	switch {
	case err == nil, errors.Is(err, undo.ErrNotKept):
		return err
	case errors.Is(err, queue.ErrNotThere), errors.Is(err, queue.ErrNoRef), errors.Is(err, queue.ErrNoCursor):
		return fmt.Errorf("%w: %w", dash.ErrNotFound, err)
	case queue.FaultOf(err).OfServer(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", dash.ErrRedis, err)
	}
	return err
}

// Jobs implements dash.Source.
func (p *panel) Jobs(ctx context.Context, q dash.JobsQuery) (dash.JobsPage, error) {
	g, _, t, err := p.find(q.Topic)
	if err != nil {
		return dash.JobsPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	limit := q.Limit
	if limit <= 0 {
		limit = jobsUsual
	}
	limit = min(limit, jobsMost)
	if !q.Filter.IsZero() {
		return p.filtered(ctx, g, t, q, limit)
	}
	offset, err := strconv.ParseInt("0"+q.Cursor, 10, 64)
	if err != nil {
		return dash.JobsPage{}, fmt.Errorf("cursor %.40q: %w: begin without one", q.Cursor, dash.ErrNotFound)
	}
	peeked, err := t.watch.Peek(ctx, queue.Place(q.Key), queue.Page{Offset: offset, Limit: int64(limit)})
	if err != nil {
		return dash.JobsPage{}, trouble(err)
	}
	page := dash.JobsPage{Now: p.moment(peeked.Now), Jobs: p.rows(g, t, peeked.Entries), Total: peeked.Total, Looked: int64(len(peeked.Entries))}
	if q.Key == dash.KeyDead && q.Cursor == "" {
		page.Causes = p.causes(ctx, g, t)
	}
	if peeked.Next > 0 {
		page.Next = strconv.FormatInt(peeked.Next, 10)
	}
	return page, nil
}

// filtered looks for dead jobs until there are enough, or for as long as a page may take.
func (p *panel) filtered(ctx context.Context, g *generation, t *topic, q dash.JobsQuery, limit int) (dash.JobsPage, error) {
	search, err := t.watch.NewSearch(queryOf(q.Filter, queue.Place(q.Key)), g.cfg.Timezone)
	if err != nil {
		return dash.JobsPage{}, err
	}
	page := dash.JobsPage{Jobs: []dash.JobRow{}, Next: q.Cursor}
	for began := time.Now(); ; {
		found, err := search.Next(ctx, page.Next)
		if err != nil {
			return dash.JobsPage{}, trouble(err)
		}
		page.Jobs = append(page.Jobs, p.rows(g, t, p.seen(q.Filter, found.Entries))...)
		page.Next, page.Looked, page.Total, page.Now = found.Cursor, found.Looked, found.Of, p.moment(found.Now)
		if page.Next == "" || len(page.Jobs) >= limit || time.Since(began) > stepPatience {
			return page, nil
		}
	}
}

// seen are those entries whose error, as it is shown, has in it what the filter asks for: whoever looks must not find out by
// asking what the masks hide.
func (p *panel) seen(f dash.DeadFilter, entries []queue.Entry) []queue.Entry {
	if f.Error == "" && f.Like == "" {
		return entries
	}
	part, class := strings.ToLower(f.Error), queue.ErrorClass(f.Like)
	return slices.DeleteFunc(entries, func(e queue.Entry) bool {
		shown := p.mask.Text(e.Error)
		return !strings.Contains(strings.ToLower(shown), part) || f.Like != "" && queue.ErrorClass(shown) != class
	})
}

func queryOf(f dash.DeadFilter, places ...queue.Place) queue.Query {
	q := queue.Query{UUID: f.UUID, Type: f.Type, Error: f.Error, Since: f.From, Places: places}
	if strings.Contains(f.Error, mask.Hidden[:1]) { // as it is shown, and not as it is stored: seen finds it
		q.Error = ""
	}
	if !f.To.IsZero() {
		q.Until = f.To.Add(-time.Nanosecond) // buried before it
	}
	return q
}

// moment is Redis's time, or what is known of it where a reply had none.
func (p *panel) moment(now queue.ServerTime) time.Time {
	if now.IsZero() {
		return p.now(p.depths.latest())
	}
	return now.In(time.UTC)
}

func (p *panel) rows(g *generation, t *topic, entries []queue.Entry) []dash.JobRow {
	rows := make([]dash.JobRow, 0, len(entries))
	var runs map[string]fastcgi.Running
	for _, e := range entries {
		row := p.row(g, t, e)
		if e.Place == queue.InRunning {
			if runs == nil {
				runs = p.runs(t.name)
			}
			p.addRun(&row, e, runs)
			p.addStranger(&row, e, g.optionsOf(t.name))
		}
		rows = append(rows, row)
	}
	return rows
}

// row is one job in a list. What a job or its handler said passes the masks.
func (p *panel) row(g *generation, t *topic, e queue.Entry) dash.JobRow {
	row := dash.JobRow{
		Ref: e.Ref(), Topic: t.name, Key: string(e.Place), UUID: p.id(e.UUID), Type: p.id(e.Type), Tries: e.Tries, Crashes: e.Crashes,
		Size: len(e.Stored), Error: p.mask.Text(e.Error), Created: created(e),
		Never: e.IsNever(),
	}
	if e.Place == queue.InReady {
		row.Ahead = g.optionsOf(t.name).Ahead(e)
	}
	if e.Due > 1 { // 1: it always has been
		row.Due = e.Due.In(time.UTC)
	}
	if !e.Lease.IsZero() {
		row.Lease = e.Lease.In(time.UTC)
	}
	if at, err := time.ParseInLocation(time.DateTime, e.At, g.cfg.Timezone); err == nil {
		row.Died = at
	}
	if !e.Readable {
		row.Unread = "no JSON object"
	}
	return row
}

// created is when a job was made by its own word. Producers of topics, too, write it as those of lists do.
func created(e queue.Entry) time.Time {
	job, err := compat.ParseListJob(e.Job)
	if err != nil || !e.Readable {
		return time.Time{}
	}
	return job.Created()
}

// Job implements dash.Source.
func (p *panel) Job(ctx context.Context, name, ref string) (dash.JobView, error) {
	g, i, t, err := p.find(name)
	if err != nil {
		return dash.JobView{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	e, err := t.watch.Entry(ctx, ref)
	if err != nil {
		return dash.JobView{}, trouble(err)
	}
	round, cfg := p.round(ctx), g.cfg.Topics[i]
	view := dash.JobView{
		Now: p.now(round), Row: p.rows(g, t, []queue.Entry{e})[0], State: p.stateOf(t, cfg.Queue, round),
		Ahead: ahead(cfg.Queue, e, round.topics[t.name].Depths), Slots: cfg.Queue.Workers, MaxTries: len(cfg.Queue.Retry),
		Trace: p.trace(ctx, e.Trace), LastError: p.mask.Text(lastError(e)), Payload: p.payload(ctx, e),
		RedisKey: cfg.Queue.KeysAt(g.cfg.Redis.KeyPrefix, e.Place)[e.Shard], Audit: p.auditOf(ctx, g, t.name, e.UUID),
		Mark: mark(ctx, t, cfg.Queue.Idempotency, e.UUID),
	}
	if cfg.Queue.List != nil {
		view.MaxTries = maxTries(e, cfg.Queue.List.MaxRetry)
	}
	view.History = history(e, view)
	return view, nil
}

func maxTries(e queue.Entry, usual int) int {
	if job, err := compat.ParseListJob(e.Job); err == nil {
		if n, ok := job.MaxRetry(); ok {
			return n
		}
	}
	return usual
}

// ahead is how many jobs come before e, -1 when that cannot be told.
func ahead(o queue.Options, e queue.Entry, d queue.Depths) int64 {
	n := o.Ahead(e)
	switch {
	case n < 0:
		return -1
	case e.Place == queue.InPool:
		return n + d.Ready
	case e.Place == queue.InReady:
		return n
	}
	return -1
}

func lastError(e queue.Entry) string {
	if job, err := compat.ParseListJob(e.Job); err == nil {
		return job.LastError()
	}
	return ""
}

func mark(ctx context.Context, t *topic, mode queue.Idempotency, uuid string) string {
	if mode == queue.IdempotencyOff || uuid == "" {
		return ""
	}
	done, err := t.watch.DoneBefore(ctx, []string{uuid})
	switch {
	case err != nil:
		return ""
	case done[0]:
		return "done"
	}
	return "not done"
}

// history is what can be told of a job's life from what it says itself.
func history(e queue.Entry, v dash.JobView) []dash.Event {
	events := []dash.Event{}
	if !v.Row.Created.IsZero() {
		events = append(events, dash.Event{At: v.Row.Created, What: dash.EventCreated})
	}
	if job, err := compat.ParseJob(e.Job); err == nil && job.ReplayedAt() != "" {
		events = append(events, dash.Event{What: dash.EventReplayed, Text: job.ReplayedAt()})
	}
	if e.Tries > 0 {
		events = append(events, dash.Event{What: dash.EventTried, N: e.Tries, Text: v.LastError})
	}
	if e.Crashes > 0 {
		events = append(events, dash.Event{What: dash.EventCrashed, N: e.Crashes})
	}
	if !v.Row.Due.IsZero() {
		events = append(events, dash.Event{At: v.Row.Due, What: dash.EventDue})
	}
	if e.Place == queue.InRunning {
		events = append(events, dash.Event{At: v.Row.Started, What: dash.EventStarted})
	}
	if e.Place == queue.InDead {
		events = append(events, dash.Event{At: v.Row.Died, What: dash.EventDied, Text: v.Row.Error})
	}
	return events
}
