package dash

import (
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are how the pages are shown.
type Options struct {
	Timezone *time.Location // of all times; nil = the system's
	Every    time.Duration  // how often an open page is looked at again; 0 = 2 s
	Streams  int            // how many open pages are kept fresh at once; 0 = 16. Others ask again now and then
	Log      *slog.Logger   // of what fails on our side; nil = nowhere
}

// Pages serves the dashboard.
type Pages struct {
	source    Source
	opts      Options
	templates templates
	assets    assets
	streams   chan struct{}
	mux       *http.ServeMux
}

// New returns the pages over source. They want to be served at a path that ends with a slash, which is stripped.
func New(source Source, o Options) *Pages {
	if o.Timezone == nil {
		o.Timezone = time.Local
	}
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	if o.Streams <= 0 {
		o.Streams = 16
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pages{source: source, opts: o, streams: make(chan struct{}, o.Streams), mux: http.NewServeMux()}
	p.assets = newAssets()
	p.templates = newTemplates(o.Timezone, p.assets)
	p.route()
	return p
}

// formLimit bounds what a form may send: two hundred refs and a filter are far below.
const formLimit = 256 << 10

// ServeHTTP serves one page, or does what one of its forms asks for.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	}
	p.mux.ServeHTTP(w, r)
}

func (p *Pages) route() {
	p.mux.HandleFunc("GET /{$}", p.page("overview", p.overview))
	p.mux.HandleFunc("GET /topic", p.page("topic", p.topic))
	p.mux.HandleFunc("GET /job", p.page("job", p.job))
	p.mux.HandleFunc("GET /search", p.searchPage)
	p.mux.HandleFunc("GET /sidecars", p.page("sidecars", p.sidecars))
	p.mux.HandleFunc("GET /audit", p.page("audit", p.audit))
	p.mux.HandleFunc("POST /confirm", p.writing(p.page("confirm", p.confirm)))
	p.mux.HandleFunc("POST /act", p.writing(p.act))
	p.mux.HandleFunc("GET /"+LoginPath, func(w http.ResponseWriter, r *http.Request) { p.Login(w, r, http.StatusOK, false) })
	p.mux.HandleFunc("GET /assets/{name}", p.assets.serve)
	p.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { p.Error(w, r, http.StatusNotFound, "") })
}

// builder fills in what a page shows.
type builder func(r *http.Request, v *view) error

// page serves the page of that name, or with ?live=1 a stream that keeps it fresh.
func (p *Pages) page(name string, build builder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Query().Has("live") {
			p.stream(w, r, name, build)
			return
		}
		v := p.newView(w, r)
		if err := build(r, &v); err != nil {
			p.fail(w, r, err)
			return
		}
		p.render(w, r, http.StatusOK, name, v)
	}
}

// writing lets only those through who may write and whose form is ours.
func (p *Pages) writing(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		viewer := Viewing(r.Context())
		if err := r.ParseForm(); err != nil {
			p.Error(w, r, http.StatusBadRequest, err.Error())
			return
		}
		if !viewer.MayWrite {
			p.Error(w, r, http.StatusForbidden, "")
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.PostForm.Get(CSRFField)), []byte(viewer.CSRF)) != 1 {
			p.Error(w, r, http.StatusForbidden, p.words(r).t("error.stale_form"))
			return
		}
		next(w, r)
	}
}

// inputError is a request that makes no sense; its text says what was wanted.
type inputError struct{ text string }

func (e inputError) Error() string { return e.text }

// fail shows the page that says why there is none.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, cause := p.status(r, err)
	var h HalfwayError
	p.showError(w, r, errorBody{Status: status, Cause: cause, UUID: lostJob(r, status), Halfway: errors.As(err, &h)})
}

// status says with which status err is told, and in which words of its own.
func (p *Pages) status(r *http.Request, err error) (int, string) {
	var input inputError
	switch {
	case errors.As(err, &input):
		return http.StatusBadRequest, input.text
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound, ""
	case errors.Is(err, ErrDenied):
		return http.StatusForbidden, ""
	case errors.Is(err, ErrRedis):
		return http.StatusServiceUnavailable, err.Error()
	}
	if r.Context().Err() == nil { // else whoever asked has gone
		p.opts.Log.ErrorContext(r.Context(), "page fails", "path", r.URL.Path, "error", err)
	}
	return http.StatusInternalServerError, err.Error()
}

// Error shows an error page. A cause in its own words may be given.
func (p *Pages) Error(w http.ResponseWriter, r *http.Request, status int, cause string) {
	p.showError(w, r, errorBody{Status: status, Cause: cause, UUID: lostJob(r, status)})
}

func (p *Pages) showError(w http.ResponseWriter, r *http.Request, body errorBody) {
	v := p.newView(w, r)
	v.Body, v.Title = body, v.words.t(body.Title())
	p.render(w, r, body.Status, "error", v)
}

type errorBody struct {
	Status int
	Cause  string
	UUID   string // of a job that is not where a link led; a search may find it

	Halfway bool // something was done
}

func (e errorBody) Title() string { return errorTitle(e.Status) }

// Help is what to do about it.
func (e errorBody) Help() string {
	if e.Halfway {
		return "error.halfway.help"
	}
	return errorTitle(e.Status) + ".help"
}

func errorTitle(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "error.bad"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "error.denied"
	case http.StatusNotFound:
		return "error.missing"
	case http.StatusServiceUnavailable:
		return "error.redis"
	}
	return "error.ours"
}

// lostJob is the uuid that the link to a job came with.
func lostJob(r *http.Request, status int) string {
	if status != http.StatusNotFound || r.URL.Path != "/job" {
		return ""
	}
	uuid := r.URL.Query().Get("uuid")
	if strings.Contains(uuid, "***") { // a part of it is not shown, so that no search could find it
		return ""
	}
	return uuid
}

// Login shows the login page. wrong says that a token was given, and was not the one.
func (p *Pages) Login(w http.ResponseWriter, r *http.Request, status int, wrong bool) {
	v := p.newView(w, r)
	v.Title = v.words.t("login.title")
	v.Body = loginBody{Wrong: wrong, Next: localPath(r.FormValue(NextField))}
	p.render(w, r, status, "login", v)
}

type loginBody struct {
	Wrong bool
	Next  string
}

// localPath lets only links to our own pages through: one name, and what is asked of it.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.Opaque != "" {
		return ""
	}
	switch u.Path {
	case "topic", "job", "search", "sidecars", "audit":
		return u.Path + "?" + u.Query().Encode()
	}
	return ""
}
