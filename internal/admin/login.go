package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sidecar/internal/dash"
)

// toLogin leads a browser to the login page, and tells others what they lack.
func (d *Door) toLogin(w http.ResponseWriter, r *http.Request, pages Pages) {
	if wait := d.bearers.wait(callerOf(r.RemoteAddr)); wait > 0 && r.Header.Get("Authorization") != "" {
		retryAfter(w.Header(), wait)
		http.Error(w, tooMany(wait), http.StatusTooManyRequests)
		return
	}
	if !safe(r.Method) || !strings.Contains(r.Header.Get("Accept"), "text/html") || r.URL.Query().Has("live") {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, bearerHint, http.StatusUnauthorized)
		return
	}
	next := strings.TrimPrefix(r.URL.RequestURI(), "/")
	to := strings.Repeat("../", strings.Count(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")) + dash.LoginPath
	if next != "" {
		to += "?" + url.Values{dash.NextField: {next}}.Encode()
	}
	redirect(w, to)
}

const bearerHint = "want a login, or Authorization: Bearer <what is in admin.token_file>"

func tooMany(wait time.Duration) string {
	return fmt.Sprintf("too many wrong tokens from this address: again in %s", wait.Round(time.Second))
}

// redirect leads to a path relative to the one that was asked for, so that it holds behind any proxy's prefix.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// login takes the token of the login page's form and opens a session for it.
func (d *Door) login(pages Pages) func(http.ResponseWriter, *http.Request, caller) {
	return func(w http.ResponseWriter, r *http.Request, _ caller) {
		from := callerOf(r.RemoteAddr)
		if wait := d.logins.wait(from); wait > 0 {
			retryAfter(w.Header(), wait)
			pages.Error(w, r, http.StatusTooManyRequests, tooMany(wait))
			return
		}
		got := sha256.Sum256([]byte(r.PostFormValue(dash.TokenField)))
		if subtle.ConstantTimeCompare(got[:], d.token[:]) != 1 || d.opts.Token == "" {
			d.logins.fail(from)
			pages.Login(w, r, http.StatusUnauthorized, true)
			return
		}
		d.logins.forget(from)
		d.setCookie(w, r, d.sessions.begin(), int(sessionLife.Seconds()))
		redirect(w, localNext(r.PostFormValue(dash.NextField)))
	}
}

// logout ends the session of whoever asks, if it is one of our forms that does.
func (d *Door) logout(pages Pages) func(http.ResponseWriter, *http.Request, caller) {
	return func(w http.ResponseWriter, r *http.Request, c caller) {
		if !d.ownForm(r.PostFormValue(dash.CSRFField), c) {
			pages.Error(w, r, http.StatusForbidden, "this form is of another session, or of before a restart")
			return
		}
		d.sessions.end(c.session)
		d.setCookie(w, r, "", -1)
		redirect(w, dash.LoginPath)
	}
}

// ownForm reports that token is that of c's own forms.
func (d *Door) ownForm(token string, c caller) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(d.sessions.formToken(c.session))) == 1
}

// setCookie gives the browser its session: for this host only, out of reach of scripts, and sent along by no other site.
// Behind a proxy with TLS it is sent over TLS only.
func (d *Door) setCookie(w http.ResponseWriter, r *http.Request, id string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: d.cookie, Value: id, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// localNext is where to go after the login: a page of ours, relative to the login page.
func localNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.Opaque != "" || strings.ContainsAny(u.Path, `/\:`) || strings.HasPrefix(u.Path, ".") || u.Path == "" {
		return "./"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.Query().Encode()}).String()
}
