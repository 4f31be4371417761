package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"sidecar/internal/dash"
)

// apiRoot begins every path of the API. What is behind it is described in docs/api.md.
const apiRoot = "/api/v1"

// route is one path of the API.
type route struct {
	pattern string // as in docs/api.md, behind the root
	write   bool
	answer  func(*api, *http.Request) (any, error)
}

// routes are the paths of the API but for its streams. docs/api.md lists them all, and a test compares.
var routes = []route{
	{"GET /overview", false, (*api).overview},
	{"GET /topics", false, (*api).topics},
	{"GET /topics/{topic}", false, (*api).topic},
	{"GET /topics/{topic}/jobs", false, (*api).jobs},
	{"GET /topics/{topic}/jobs/{ref}", false, (*api).job},
	{"GET /pools", false, (*api).pools},
	{"GET /sidecars", false, (*api).sidecars},
	{"GET /alerts", false, (*api).alerts},
	{"GET /audit", false, (*api).audit},
	{"POST /topics/{topic}/select", false, (*api).selection},
	{"POST /topics/{topic}/replay", true, (*api).replay},
	{"POST /topics/{topic}/drop", true, (*api).drop},
	{"POST /topics/{topic}/requeue", true, (*api).requeue},
	{"POST /topics/{topic}/pause", true, (*api).pause},
	{"POST /topics/{topic}/resume", true, (*api).resume},
	{"POST /undo", true, (*api).undo},
}

// Routes returns the API's routes as docs/api.md names them.
func Routes() (list []string) {
	for _, r := range routes {
		list = append(list, r.pattern)
	}
	return append(list, "GET /search", "GET /events")
}

// api serves what the pages show as JSON, and does what they do.
type api struct {
	source dash.Source
	every  time.Duration // between two looks of a stream

	mu   sync.Mutex
	last *sight // guarded by mu: what all streams show
}

// refusal is an answer that is none: why, and what was wanted. Its JSON names are a promise.
type refusal struct {
	status int
	Text   string `json:"error"`
}

// Error says why.
func (r refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) refusal {
	return refusal{status, fmt.Sprintf(format, args...)}
}

// API returns the JSON API over source, for those who may.
func (d *Door) API(source dash.Source) http.Handler {
	a := &api{source: source, every: streamEvery}
	mux := http.NewServeMux()
	handle := func(pattern string, write bool, h func(http.ResponseWriter, *http.Request, caller)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+apiRoot+path, func(w http.ResponseWriter, r *http.Request) {
			if ready, c, no := d.admit(w, r, write); no != nil {
				fail(w, no)
			} else {
				h(w, ready, c)
			}
		})
	}
	for _, one := range routes {
		handle(one.pattern, one.write, func(w http.ResponseWriter, r *http.Request, _ caller) { a.answer(w, r, one) })
	}
	handle("GET /search", false, func(w http.ResponseWriter, r *http.Request, c caller) {
		d.stream(http.HandlerFunc(a.search), c, wantsStream(r)).ServeHTTP(w, r)
	})
	handle("GET /events", false, func(w http.ResponseWriter, r *http.Request, c caller) {
		d.stream(http.HandlerFunc(a.events), c, true).ServeHTTP(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.unknown(w, r, mux) })
	return mux
}

// unknown answers what no route does, with the methods that there are for that path.
func (a *api) unknown(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			w.Header().Set("Allow", method)
			fail(w, refuse(http.StatusMethodNotAllowed, "%s %s: want %s", r.Method, r.URL.Path, method))
			return
		}
	}
	fail(w, refuse(http.StatusNotFound, "%s: there is no such path; docs/api.md lists them", r.URL.Path))
}

// admit returns the request with its viewer and who asks, or why it is not answered.
func (d *Door) admit(w http.ResponseWriter, r *http.Request, write bool) (*http.Request, caller, error) {
	setHeaders(w.Header())
	if err := d.checkHost(r); err != nil {
		return nil, caller{}, refuse(http.StatusMisdirectedRequest, "%v", err)
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	}
	c := d.callerOf(r)
	if err := d.checkSite(r); err != nil && !c.bearer {
		return nil, caller{}, refuse(http.StatusForbidden, "%v", err)
	}
	if d.opts.Token != "" && !c.shownToken() {
		return nil, caller{}, d.noToken(w, r)
	}
	if d.refuseForwarded(r, c) {
		return nil, caller{}, refuse(http.StatusForbidden, "%s", forwardedHint)
	}
	if write && !d.mayWrite(c) {
		return nil, caller{}, refuse(http.StatusForbidden, "reading only: want admin.write = true for this host, or admin.token_file and its token")
	}
	if err := d.checkOrder(r, c); err != nil {
		return nil, caller{}, err
	}
	return r.WithContext(dash.WithViewer(r.Context(), d.viewer(r, c))), c, nil
}

func (d *Door) noToken(w http.ResponseWriter, r *http.Request) error {
	if wait := d.bearers.wait(callerOf(r.RemoteAddr)); wait > 0 && r.Header.Get("Authorization") != "" {
		retryAfter(w.Header(), wait)
		return refuse(http.StatusTooManyRequests, "%s", tooMany(wait))
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	return refuse(http.StatusUnauthorized, "%s", bearerHint)
}

// checkOrder wants orders as JSON, which no page of another site can send without asking first, and no form at all; a
// browser with a session has to bring the session's form token along.
func (d *Door) checkOrder(r *http.Request, c caller) error {
	if safe(r.Method) {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type = %q: want application/json", r.Header.Get("Content-Type"))
	}
	if !c.bearer && c.session != "" && !d.ownForm(r.Header.Get("X-CSRF-Token"), c) {
		return refuse(http.StatusForbidden, "want X-CSRF-Token with the session's form token, or Authorization: Bearer instead of the session")
	}
	return nil
}

// answer answers one request by its route.
func (a *api) answer(w http.ResponseWriter, r *http.Request, one route) {
	body, err := one.answer(a, r)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, body)
}

// fail says why there is no answer.
func fail(w http.ResponseWriter, err error) {
	no, ok := errors.AsType[refusal](err)
	if !ok {
		no = refusal{statusOf(err), err.Error()}
	}
	writeJSON(w, no.status, no)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, dash.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, dash.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, dash.ErrRedis):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// order reads the body of r into what v points to; none is an empty one.
func order(r *http.Request, v any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "want a body of %d bytes at most", tooLarge.Limit)
	case err != nil:
		return refuse(http.StatusBadRequest, "body: want one JSON object as docs/api.md describes it: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "body: want one JSON object and nothing behind it")
	}
	return nil
}

// number reads a number of the query, 0 where there is none.
func number(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, "%s = %q: want a number", name, text)
	}
	return n, nil
}

// moment reads a time of the query, zero where there is none.
func moment(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, refuse(http.StatusBadRequest, "%s = %q: want a time such as 2026-01-02T15:04:05Z", name, text)
	}
	if err := dash.CheckBound(at); err != nil {
		return time.Time{}, refuse(http.StatusBadRequest, "%s = %q: %v", name, text, err)
	}
	return at, nil
}
