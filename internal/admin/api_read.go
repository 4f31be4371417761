package admin

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"sidecar/internal/dash"
	"sidecar/queue"
)

func (a *api) overview(r *http.Request) (any, error) { return a.source.Overview(r.Context()) }

func (a *api) topics(r *http.Request) (any, error) {
	o, err := a.source.Overview(r.Context())
	return o.Topics, err
}

func (a *api) pools(r *http.Request) (any, error) {
	o, err := a.source.Overview(r.Context())
	return o.Pools, err
}

func (a *api) sidecars(r *http.Request) (any, error) {
	o, err := a.source.Overview(r.Context())
	return o.Sidecars, err
}

func (a *api) alerts(r *http.Request) (any, error) {
	o, err := a.source.Overview(r.Context())
	return o.Alarms, err
}

func (a *api) topic(r *http.Request) (any, error) {
	return a.source.Topic(r.Context(), r.PathValue("topic"))
}

func (a *api) job(r *http.Request) (any, error) {
	return a.source.Job(r.Context(), r.PathValue("topic"), r.PathValue("ref"))
}

func (a *api) audit(r *http.Request) (any, error) {
	return a.source.Audit(r.Context(), r.URL.Query().Get("topic"))
}

func (a *api) jobs(r *http.Request) (any, error) {
	q := r.URL.Query()
	key := q.Get("key")
	if !slices.Contains(dash.Keys, key) {
		return nil, refuse(http.StatusBadRequest, "key = %q: want one of %s", key, strings.Join(dash.Keys, ", "))
	}
	limit, limitErr := number(q, "limit")
	from, fromErr := moment(q, "from")
	to, toErr := moment(q, "to")
	if err := errors.Join(limitErr, fromErr, toErr); err != nil {
		return nil, err
	}
	return a.source.Jobs(r.Context(), dash.JobsQuery{
		Topic: r.PathValue("topic"), Key: key, Cursor: q.Get("cursor"), Limit: limit,
		Filter: dash.DeadFilter{Error: q.Get("error"), Like: q.Get("like"), Type: q.Get("type"), UUID: q.Get("uuid"), From: from, To: to},
	})
}

// searchQuery reads what is looked for.
func searchQuery(r *http.Request) (dash.SearchQuery, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit")
	if err != nil {
		return dash.SearchQuery{}, err
	}
	query := dash.SearchQuery{UUID: q.Get("uuid"), Prefix: q.Get("prefix"), Text: q.Get("text"), Field: q.Get("field"), Topic: q.Get("topic"), Cursor: q.Get("cursor"), Limit: limit}
	asked := slices.DeleteFunc([]string{query.UUID, query.Prefix, query.Text, query.Field}, func(s string) bool { return s == "" })
	if len(asked) != 1 {
		return query, refuse(http.StatusBadRequest, "want one of uuid, prefix, text and field, got %d of them", len(asked))
	}
	if _, ok := queue.ParseField(query.Field); query.Field != "" && !ok {
		return query, refuse(http.StatusBadRequest, "field = %.80q: want name=value, such as order_id=2104", query.Field)
	}
	return query, nil
}

// search takes one step and answers with it, or goes on to the end and streams the steps.
func (a *api) search(w http.ResponseWriter, r *http.Request) {
	query, err := searchQuery(r)
	if err != nil {
		fail(w, err)
		return
	}
	if wantsStream(r) {
		a.streamSearch(w, r, query)
		return
	}
	step, err := a.source.Search(r.Context(), query)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, step)
}
