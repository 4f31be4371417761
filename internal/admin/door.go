package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sidecar/internal/dash"
)

// DoorOptions say who may come in, and what for. They are those of [admin].
type DoorOptions struct {
	Listen      string
	Token       string   // "" = none is asked for
	Hosts       []string // further names by which browsers may ask
	Write       bool     // from this host also without a token
	ShowPayload bool
}

// Pages are the dashboard's pages, as far as the door needs them. A [dash.Pages] has them.
type Pages interface {
	http.Handler
	Login(w http.ResponseWriter, r *http.Request, status int, wrong bool)
	Error(w http.ResponseWriter, r *http.Request, status int, cause string)
}

// Door guards the dashboard and the API: who may look, who may write, and that it is they who ask and not a page of
// somebody else's in their browser. What is behind it finds out by dash.Viewing.
type Door struct {
	opts     DoorOptions
	token    [sha256.Size]byte
	cookie   string
	sessions *sessions
	logins   *attempts
	bearers  *attempts
	cross    *http.CrossOriginProtection
	streams  chan struct{}
}

// NewDoor returns a door that nobody has come through yet.
func NewDoor(o DoorOptions) *Door {
	// Cookies know no ports: two sidecars of one host would log each other out.
	sum := sha256.Sum256([]byte(o.Listen))
	return &Door{
		opts:     o,
		token:    sha256.Sum256([]byte(o.Token)),
		cookie:   "sidecar_session_" + hex.EncodeToString(sum[:4]),
		sessions: newSessions(),
		logins:   newAttempts(),
		bearers:  newAttempts(),
		cross:    http.NewCrossOriginProtection(),
		streams:  make(chan struct{}, streamsAtOnce),
	}
}

const (
	// streamsAtOnce bounds what stays connected for long, well below connectionsAtOnce.
	streamsAtOnce = 16

	// bodyLimit bounds what a form or an order may say.
	bodyLimit = 256 << 10
)

// caller is who asks, as far as the door knows.
type caller struct {
	session string // "" = none
	bearer  bool
	local   bool // on this host, or let in by the socket's mode
}

func (c caller) shownToken() bool { return c.bearer || c.session != "" }

// Pages lets those through to the pages who may see them, and leads others to the login page.
func (d *Door) Pages(pages Pages) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /"+dash.LoginPath, d.inside(pages, d.login(pages)))
	mux.Handle("POST /"+dash.LogoutPath, d.inside(pages, d.logout(pages)))
	mux.Handle("GET /"+dash.LoginPath, d.inside(pages, func(w http.ResponseWriter, r *http.Request, _ caller) { pages.ServeHTTP(w, r) }))
	mux.Handle("GET /assets/", d.inside(pages, func(w http.ResponseWriter, r *http.Request, _ caller) { pages.ServeHTTP(w, r) }))
	mux.Handle("/", d.inside(pages, func(w http.ResponseWriter, r *http.Request, c caller) {
		if d.opts.Token != "" && !c.shownToken() {
			d.toLogin(w, r, pages)
			return
		}
		if d.refuseForwarded(r, c) {
			pages.Error(w, r, http.StatusForbidden, forwardedHint)
			return
		}
		d.stream(pages, c, r.URL.Query().Has("live")).ServeHTTP(w, r)
	}))
	return mux
}

const forwardedHint = "a proxy has sent this request on, so that others than this host may be asking: want admin.token_file"

// refuseForwarded reports that a proxy lets others in where nobody is asked who he is.
func (d *Door) refuseForwarded(r *http.Request, c caller) bool {
	return d.opts.Token == "" && !c.shownToken() && forwarded(r)
}

// inside does what every answer of the dashboard needs before next: bounds, headers, names, sites, and who looks.
func (d *Door) inside(pages Pages, next func(http.ResponseWriter, *http.Request, caller)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if err := d.checkHost(r); err != nil {
			http.Error(w, err.Error(), http.StatusMisdirectedRequest)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		}
		c := d.callerOf(r)
		r = r.WithContext(dash.WithViewer(r.Context(), d.viewer(r, c)))
		if err := d.checkSite(r); err != nil && !c.bearer {
			pages.Error(w, r, http.StatusForbidden, err.Error())
			return
		}
		next(w, r, c)
	})
}

// setHeaders sets what keeps browsers from doing more with an answer than to show it.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// callerOf finds out who asks. A wrong token is nobody's.
func (d *Door) callerOf(r *http.Request) caller {
	c := caller{local: d.fromHere() && !forwarded(r)}
	if d.opts.Token == "" {
		return c
	}
	c.bearer = d.bearers.bears(r, d.token)
	c.session = d.sessionOf(r)
	return c
}

// sessionOf returns the id of the session that r is of; "" where it is of none that holds.
func (d *Door) sessionOf(r *http.Request) string {
	if cookie, err := r.Cookie(d.cookie); err == nil && d.sessions.holds(cookie.Value) {
		return cookie.Value
	}
	return ""
}

// fromHere reports that nobody but this host's own can connect.
func (d *Door) fromHere() bool {
	if strings.HasPrefix(d.opts.Listen, unixScheme) {
		return true
	}
	host, _, _ := net.SplitHostPort(d.opts.Listen)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mayWrite reports whether c may change anything: with the token always, without it on a unix socket, whose mode says who
// may, and on loopback where the configuration says so.
func (d *Door) mayWrite(c caller) bool {
	if c.shownToken() {
		return true
	}
	return d.opts.Token == "" && c.local && (d.opts.Write || strings.HasPrefix(d.opts.Listen, unixScheme))
}

func (d *Door) viewer(r *http.Request, c caller) dash.Viewer {
	name := callerOf(r.RemoteAddr)
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		name = host
	}
	return dash.Viewer{
		Name:        "web " + name,
		MayWrite:    d.mayWrite(c),
		ShowPayload: d.opts.ShowPayload,
		CSRF:        d.sessions.formToken(c.session),
		CanLogIn:    d.opts.Token != "" && !c.shownToken(),
		LoggedIn:    c.session != "",
	}
}

// stream bounds how many answers last for long, and has one that c asked for with a session end with that: who has logged out, on
// whichever page, sees nothing more. The session is the one that let c in: looked for anew, one that has ended since would bind nothing.
func (d *Door) stream(h http.Handler, c caller, lasts bool) http.Handler {
	if !lasts {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case d.streams <- struct{}{}:
			defer func() { <-d.streams }()
			if c.session != "" {
				bound, leave := d.sessions.during(r, c.session)
				defer leave()
				r = bound
			}
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "10")
			http.Error(w, fmt.Sprintf("%d streams are open already: ask again later, or without one", streamsAtOnce), http.StatusServiceUnavailable)
		}
	})
}

// retryAfter says in whole seconds how long to wait.
func retryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}
