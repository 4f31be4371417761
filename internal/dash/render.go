package dash

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// view is what a template is given.
type view struct {
	Lang   string
	Name   string // of the page
	Title  string
	Viewer Viewer
	Now    time.Time // the Source's, as soon as it has told it
	Query  url.Values
	Live   bool // the page is kept fresh
	Body   any

	words words
}

// page is a page's template and which of its parts are kept fresh: a part's name with "-" is the id of its place.
type page struct {
	parts []string
}

var pages = map[string]page{
	"overview": {parts: []string{"overview.wrong", "overview.tiles", "overview.cards", "overview.topics"}},
	"topic":    {parts: []string{"topic.state", "topic.tiles", "topic.tabs", "topic.jobs", "topic.charts"}},
	"job":      {parts: []string{"job.head", "job.why", "job.history"}},
	"search":   {},
	"sidecars": {parts: []string{"sidecars.all"}},
	"audit":    {parts: []string{"audit.lines"}},
	"confirm":  {},
	"login":    {},
	"error":    {},
}

// templates are the pages' templates by language and name. They are read once, when the pages are made.
type templates map[string]map[string]*template.Template

func newTemplates(zone *time.Location, a assets) templates {
	ts := templates{}
	for _, lang := range languages {
		ts[lang] = map[string]*template.Template{}
		base := template.New("").Funcs(functions(words(lang), zone, a))
		template.Must(base.ParseFS(templateFiles, "templates/layout.html", "templates/common.html", "templates/charts.html"))
		for name := range pages {
			clone := template.Must(base.Clone())
			ts[lang][name] = template.Must(clone.ParseFS(templateFiles, "templates/"+name+".html"))
		}
	}
	return ts
}

// LiveLink is the link to the stream that keeps the page fresh.
func (v view) LiveLink() string { return v.self("live", "1") }

// LangLink is the link to the same page in the other language. Pages that answer a form have none: it leads to the overview.
func (v view) LangLink() string {
	other := english
	if v.Lang == english {
		other = chinese
	}
	return v.self("lang", other)
}

// self is a link to the page itself with something else asked for.
func (v view) self(name, value string) string {
	q := url.Values{name: {value}}
	path := "./"
	switch v.Name {
	case "topic", "job", "search", "sidecars", "audit", LoginPath:
		path = v.Name
		fallthrough
	case "overview":
		for key, values := range v.Query {
			if key != "live" && key != "lang" && key != name && !actMarks[key] {
				q[key] = values
			}
		}
	}
	return path + "?" + q.Encode()
}

// actMarks are what a link back from an act tells. It is told once.
var actMarks = map[string]bool{"did": true, "n": true, "gone": true, "skipped": true, "more": true, "undo": true}

// policy is for browsers: nothing but our own files, nothing inline, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// newView begins a page: who looks, in which language. A language that was asked for is kept in a cookie.
func (p *Pages) newView(w http.ResponseWriter, r *http.Request) view {
	if lang, chosen := language(r); chosen && !r.URL.Query().Has("live") {
		// Without a path it holds for the directory of the request, which is the pages' root wherever a proxy has put it.
		http.SetCookie(w, &http.Cookie{
			Name: langCookie, Value: lang, MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
	}
	return viewOf(r)
}

// viewOf is newView for the stream of a page: its answer has begun.
func viewOf(r *http.Request) view {
	lang, _ := language(r)
	return view{
		Lang: lang, Viewer: Viewing(r.Context()), Now: time.Now(), Query: r.URL.Query(), words: words(lang),
	}
}

func (p *Pages) words(r *http.Request) words {
	lang, _ := language(r)
	return words(lang)
}

// render writes the whole page or, when a template fails, a whole page that says so: never a half one.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.Name = name
	v.Live = len(pages[name].parts) > 0
	var page bytes.Buffer
	if err := p.templates[v.Lang][name].ExecuteTemplate(&page, "layout", v); err != nil {
		p.opts.Log.ErrorContext(r.Context(), "template fails", "page", name, "error", err)
		http.Error(w, v.words.t("error.ours"), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", map[string]string{english: "en", chinese: "zh-CN"}[v.Lang])
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Add("Vary", "Accept-Language, Cookie")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w)
}

// part renders one part of a page. A template that fails is a fault of ours: the log has it.
func (p *Pages) part(name, part string, v view) (string, error) {
	var b bytes.Buffer
	if err := p.templates[v.Lang][name].ExecuteTemplate(&b, part, v); err != nil {
		p.opts.Log.Error("template fails", "page", name, "part", part, "error", err)
		return "", fmt.Errorf("part %s of page %s: %w", part, name, err)
	}
	return b.String(), nil
}
