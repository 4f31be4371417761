package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sidecar/internal/admin"
	"sidecar/internal/dash"
)

const token = "s3cret-s3cret-s3cret"

// fakePages say who looks, and at which path.
type fakePages struct{}

func (fakePages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := dash.Viewing(r.Context())
	_, _ = fmt.Fprintf(w, "page %s write=%t payload=%t in=%t login=%t csrf=%s by=%s", r.URL.Path, v.MayWrite, v.ShowPayload, v.LoggedIn, v.CanLogIn, v.CSRF, v.Name)
}

func (fakePages) Login(w http.ResponseWriter, _ *http.Request, status int, wrong bool) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "login wrong=%t", wrong)
}

func (fakePages) Error(w http.ResponseWriter, _ *http.Request, status int, cause string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "error "+cause)
}

// fakeSource shows two topics and remembers what was done.
type fakeSource struct {
	dash.Source
	did []string
}

func (s *fakeSource) Overview(context.Context) (dash.Overview, error) {
	return dash.Overview{
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "v-test", Topics: []dash.Topic{{Name: "mail"}, {Name: "a/b"}},
		Pools: []dash.Pool{{Name: "default"}}, Sidecars: []dash.Sidecar{{Instance: "i"}}, Alarms: []dash.Alarm{},
	}, nil
}

func (s *fakeSource) Topic(_ context.Context, name string) (dash.TopicView, error) {
	if name != "mail" && name != "a/b" {
		return dash.TopicView{}, fmt.Errorf("topic %q: %w", name, dash.ErrNotFound)
	}
	return dash.TopicView{Topic: dash.Topic{Name: name}}, nil
}

func (s *fakeSource) Jobs(_ context.Context, q dash.JobsQuery) (dash.JobsPage, error) {
	return dash.JobsPage{Jobs: []dash.JobRow{{Ref: "r", Topic: q.Topic, Key: q.Key, Error: q.Filter.Error}}, Total: int64(q.Limit)}, nil
}

func (s *fakeSource) Job(_ context.Context, topic, ref string) (dash.JobView, error) {
	return dash.JobView{Row: dash.JobRow{Topic: topic, Ref: ref}}, nil
}

func (s *fakeSource) Search(_ context.Context, q dash.SearchQuery) (dash.SearchStep, error) {
	switch q.Cursor {
	case "":
		return dash.SearchStep{Next: "1", Looked: 1, Total: 2}, nil
	case "1":
		return dash.SearchStep{Looked: 2, Total: 2, Found: []dash.JobRow{{UUID: q.UUID + q.Prefix}}}, nil
	}
	return dash.SearchStep{}, fmt.Errorf("%w: gone", dash.ErrRedis)
}

func (s *fakeSource) Audit(context.Context, string) ([]dash.AuditLine, error) {
	return []dash.AuditLine{}, nil
}

func (s *fakeSource) Select(_ context.Context, a dash.Act) (dash.Selection, error) {
	return dash.Selection{Count: int64(len(a.Refs))}, nil
}

func (s *fakeSource) act(ctx context.Context, verb string, a dash.Act) (dash.Result, error) {
	s.did = append(s.did, fmt.Sprintf("%s %s %s %v by %s", verb, a.Topic, a.Key, a.Refs, dash.Viewing(ctx).Name))
	return dash.Result{Count: int64(len(a.Refs)), Undo: "u"}, nil
}

func (s *fakeSource) Replay(ctx context.Context, a dash.Act) (dash.Result, error) {
	return s.act(ctx, "replay", a)
}

func (s *fakeSource) Drop(ctx context.Context, a dash.Act) (dash.Result, error) {
	return s.act(ctx, "drop", a)
}

func (s *fakeSource) Requeue(ctx context.Context, a dash.Act) (dash.Result, error) {
	return s.act(ctx, "requeue", a)
}

func (s *fakeSource) Undo(_ context.Context, id string) (dash.Result, error) {
	s.did = append(s.did, "undo "+id)
	return dash.Result{}, nil
}

func (s *fakeSource) Pause(_ context.Context, p dash.PauseOrder) error {
	s.did = append(s.did, fmt.Sprintf("pause %s %s %s", p.Topic, p.For.Duration(), p.Reason))
	return nil
}

func (s *fakeSource) Resume(_ context.Context, topic string) (ended bool, err error) {
	s.did = append(s.did, "resume "+topic)
	return true, nil
}

// dashboard is a whole side with these doors.
func dashboard(o admin.DoorOptions) (http.Handler, *fakeSource) {
	source := &fakeSource{}
	ready := func(context.Context) []string { return nil }
	return admin.New(admin.Options{
		Gatherer: prometheus.NewRegistry(), Ready: ready, Holds: noHolds, Lists: none, Version: "v-test", Door: o, Pages: fakePages{}, Source: source,
	}), source
}

// request is one request, as a browser of this host would send it where nothing else is said.
type request struct {
	method, path, body, host, remote string
	headers                          map[string]string
	cookie                           *http.Cookie
}

func send(t *testing.T, h http.Handler, q request) *httptest.ResponseRecorder {
	t.Helper()
	if q.method == "" {
		q.method = http.MethodGet
	}
	if q.host == "" {
		q.host = "127.0.0.1:9180"
	}
	r := httptest.NewRequestWithContext(t.Context(), q.method, q.path, strings.NewReader(q.body))
	r.Host, r.RemoteAddr = q.host, "127.0.0.1:5555"
	if q.remote != "" {
		r.RemoteAddr = q.remote
	}
	r.Header.Set("Accept", "text/html")
	if q.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range q.headers {
		r.Header.Set(name, value)
	}
	if q.cookie != nil {
		r.AddCookie(q.cookie)
	}
	got := httptest.NewRecorder()
	h.ServeHTTP(got, r)
	return got
}

func wantAnswer(t *testing.T, got *httptest.ResponseRecorder, code int, says string) {
	t.Helper()
	if got.Code != code || !strings.Contains(got.Body.String(), says) {
		t.Errorf("got %d %q, want %d …%s…", got.Code, got.Body, code, says)
	}
}

var (
	loopback = admin.DoorOptions{Listen: "127.0.0.1:9180"}
	writable = admin.DoorOptions{Listen: "127.0.0.1:9180", Write: true}
	open     = admin.DoorOptions{Listen: "0.0.0.0:9180", Token: token, Write: true}
	unixDoor = admin.DoorOptions{Listen: "unix:///run/sidecar/admin.sock"}
)

func TestWhoMayLookAndWhoMayWrite(t *testing.T) {
	bearer := map[string]string{"Authorization": "Bearer " + token}
	tests := map[string]struct {
		door    admin.DoorOptions
		headers map[string]string
		remote  string
		code    int
		says    string
	}{
		"loopback reads":                       {loopback, nil, "", 200, "write=false"},
		"loopback writes where it is let":      {writable, nil, "", 200, "write=true"},
		"a unix socket writes":                 {unixDoor, nil, "@", 200, "write=true"},
		"others without a token see nothing":   {open, nil, "10.0.0.9:1", 303, ""},
		"write = true is for this host alone":  {open, nil, "127.0.0.1:1", 303, ""},
		"a token writes":                       {open, bearer, "10.0.0.9:1", 200, "write=true"},
		"a wrong token sees nothing":           {open, map[string]string{"Authorization": "Bearer x"}, "", 303, ""},
		"a token on loopback writes":           {admin.DoorOptions{Listen: "127.0.0.1:1", Token: token}, bearer, "", 200, "write=true"},
		"a token asked for on a unix socket":   {admin.DoorOptions{Listen: "unix:///s", Token: token}, nil, "@", 303, ""},
		"no proxy without a token":             {writable, map[string]string{"X-Forwarded-For": "203.0.113.7"}, "", 403, "admin.token_file"},
		"no proxy without a token, socket":     {unixDoor, map[string]string{"Forwarded": "for=203.0.113.7"}, "@", 403, "admin.token_file"},
		"a proxy with a token":                 {open, map[string]string{"Authorization": "Bearer " + token, "X-Forwarded-For": "1.2.3.4"}, "", 200, "write=true"},
		"the payload is shown where it is let": {admin.DoorOptions{Listen: "[::1]:1", ShowPayload: true}, nil, "", 200, "payload=true"},
		"the payload is not shown else":        {open, bearer, "", 200, "payload=false"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, _ := dashboard(tt.door)
			got := send(t, h, request{path: "/topic", headers: tt.headers, remote: tt.remote})
			wantAnswer(t, got, tt.code, tt.says)
			if tt.code == http.StatusSeeOther && got.Header().Get("Location") != "login?next=topic" {
				t.Errorf("it leads to %q", got.Header().Get("Location"))
			}
			if strings.Contains(got.Body.String(), token) {
				t.Error("the answer shows the token")
			}
		})
	}
}

func TestOnlyNamesOfOursAreAnswered(t *testing.T) {
	o := writable
	o.Hosts = []string{"ops.internal"}
	h, _ := dashboard(o)
	for host, ok := range map[string]bool{
		"127.0.0.1:9180": true, "localhost": true, "LOCALHOST:9180": true, "[::1]:9180": true, "10.0.0.7": true, "ops.internal": true, "Ops.Internal.:80": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:9180": false, "ops.internal.evil.example": false, "1.2.3": false, ".": false,
	} {
		for _, path := range []string{"/", "/topic", "/api/v1/overview", "/login", "/assets/app.css"} {
			got := send(t, h, request{path: path, host: host})
			if (got.Code == http.StatusOK) != ok {
				t.Errorf("%s of %s: %d %s", path, host, got.Code, got.Body)
			}
			if !ok && got.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s of %s: %d, want 421", path, host, got.Code)
			}
		}
	}
}

// What machines ask for tells a page of the web nothing, either: it may have its own name point here, and has no token.
func TestMachinesAskByNamesOfOursWhereThereIsNoToken(t *testing.T) {
	locked, socket := writable, writable
	locked.Token, socket.Listen = token, "unix:///run/sidecar.sock"
	for name, tt := range map[string]struct {
		door  admin.DoorOptions
		host  string
		token string
		ok    bool
	}{
		"an address":              {writable, "127.0.0.1:9180", "", true},
		"a name that points here": {writable, "evil.example:9180", "", false},
		"HTTP/1.0 without a name": {writable, "", "", true},
		"any name with the token": {locked, "web1.internal:9180", token, true},
		"any name on a socket":    {socket, "sidecar", "", true},
	} {
		h, _ := dashboard(tt.door)
		for _, path := range []string{"/metrics", "/probe?queue=sms", "/healthz", "/readyz"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.Host = tt.host
			r.Header.Set("Authorization", "Bearer "+tt.token)
			got := httptest.NewRecorder()
			h.ServeHTTP(got, r)
			told := got.Code != http.StatusMisdirectedRequest
			if strings.HasSuffix(path, "z") {
				told = got.Body.Len() > 0 // by another name a probe says its status alone
			}
			if told != tt.ok {
				t.Errorf("%s: %s: %d %s", name, path, got.Code, got.Body)
			}
		}
	}
}

// Not every proxy says for whom it asks: some tell of the scheme alone.
func TestAProxyIsKnownByWhicheverOfItsHeaders(t *testing.T) {
	h, source := dashboard(admin.DoorOptions{Listen: "127.0.0.1:9180", Write: true})
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Ssl", "X-Forwarded-Server", "X-Forwarded", "Forwarded", "Via",
		"X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "X-Original-Forwarded-For", "True-Client-IP", "CF-Connecting-IP",
	} {
		got := send(t, h, request{
			method: http.MethodPost, path: "/api/v1/topics/mail/resume", headers: map[string]string{"Content-Type": "application/json", name: "https"},
		})
		if got.Code != http.StatusForbidden {
			t.Errorf("with %s: %d %s", name, got.Code, got.Body)
		}
	}
	if len(source.did) > 0 {
		t.Errorf("done for a proxy: %q", source.did)
	}
}

func TestOtherSitesCanOnlyLinkHere(t *testing.T) {
	tests := map[string]struct {
		method  string
		headers map[string]string
		ok      bool
	}{
		"typed":                       {"GET", map[string]string{"Sec-Fetch-Site": "none"}, true},
		"our own page":                {"GET", map[string]string{"Sec-Fetch-Site": "same-origin"}, true},
		"a link":                      {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		"in a frame":                  {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, false},
		"a script of another":         {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, false},
		"a script of a neighbour":     {"GET", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, false},
		"an image":                    {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"}, false},
		"our own form":                {"POST", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:9180", "Referer": "http://127.0.0.1:9180/topic"}, true},
		"a form of another":           {"POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}, false},
		"a form, navigated":           {"POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, false},
		"another port's":              {"POST", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8080"}, false},
		"an old browser, ours":        {"POST", map[string]string{"Origin": "http://127.0.0.1:9180"}, true},
		"an old browser, another":     {"POST", map[string]string{"Origin": "http://evil.example"}, false},
		"no origin":                   {"POST", map[string]string{"Origin": "null"}, false},
		"an older one's referer":      {"POST", map[string]string{"Referer": "http://evil.example/127.0.0.1:9180"}, false},
		"an origin that begins alike": {"POST", map[string]string{"Origin": "http://127.0.0.1:9180.evil.example"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, source := dashboard(writable)
			got := send(t, h, request{method: tt.method, path: "/topic", headers: tt.headers})
			if (got.Code == http.StatusOK) != tt.ok || !tt.ok && got.Code != http.StatusForbidden {
				t.Errorf("a page: got %d %s", got.Code, got.Body)
			}
			headers := map[string]string{"Content-Type": "application/json"}
			maps.Copy(headers, tt.headers)
			path := "/api/v1/overview"
			if tt.method == http.MethodPost {
				path = "/api/v1/topics/mail/resume"
			}
			got = send(t, h, request{method: tt.method, path: path, headers: headers})
			if (got.Code == http.StatusOK) != tt.ok || !tt.ok && len(source.did) > 0 {
				t.Errorf("the API: got %d %s, did %v", got.Code, got.Body, source.did)
			}
		})
	}
}

func TestAnswersForbidWhatBrowsersNeedNotDo(t *testing.T) {
	h, _ := dashboard(loopback)
	for _, path := range []string{"/", "/topic", "/login", "/api/v1/overview", "/api/v1/none"} {
		got := send(t, h, request{path: path}).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if !strings.HasPrefix(got.Get(name), want) && path != "/api/v1/none" {
				t.Errorf("%s: %s = %q, want %q", path, name, got.Get(name), want)
			}
		}
		if csp := got.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") && path != "/api/v1/none" {
			t.Errorf("%s: %s", path, csp)
		}
		if got.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s lets other sites read", path)
		}
	}
}

// login logs in and returns the answer and its cookie.
func login(t *testing.T, h http.Handler, with, remote string, headers map[string]string) (*httptest.ResponseRecorder, *http.Cookie) {
	t.Helper()
	form := url.Values{dash.TokenField: {with}, dash.NextField: {"topic?t=mail"}}
	got := send(t, h, request{method: "POST", path: "/login", body: form.Encode(), remote: remote, headers: headers})
	for _, cookie := range got.Result().Cookies() {
		return got, cookie
	}
	return got, nil
}

func TestALoginOpensASessionAndALogoutEndsIt(t *testing.T) {
	h, _ := dashboard(open)
	got, cookie := login(t, h, token, "", nil)
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "topic?t=mail" || cookie == nil {
		t.Fatalf("got %d to %q with %v", got.Code, got.Header().Get("Location"), cookie)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Secure || cookie.MaxAge != 12*3600 || cookie.Domain != "" || len(cookie.Value) < 40 || strings.Contains(cookie.Value, token) {
		t.Errorf("the cookie is %v", cookie)
	}
	page := send(t, h, request{path: "/topic", cookie: cookie})
	wantAnswer(t, page, 200, "write=true")
	wantAnswer(t, page, 200, "in=true login=false")
	if _, again := login(t, h, token, "", map[string]string{"X-Forwarded-Proto": "https"}); !again.Secure || again.Value == cookie.Value {
		t.Errorf("behind TLS the cookie is %v", again)
	}
	other, _ := dashboard(open)
	wantAnswer(t, send(t, other, request{path: "/topic", cookie: cookie}), 303, "") // a restart ends it
	wantAnswer(t, send(t, h, request{method: "POST", path: "/logout", cookie: cookie}), 403, "another session")
	wantAnswer(t, send(t, h, request{path: "/topic", cookie: cookie}), 200, "in=true")
	_, csrf, _ := strings.Cut(page.Body.String(), "csrf=")
	csrf, _, _ = strings.Cut(csrf, " ")
	out := send(t, h, request{method: "POST", path: "/logout", cookie: cookie, body: url.Values{dash.CSRFField: {csrf}}.Encode()})
	if out.Code != http.StatusSeeOther || out.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", out.Code, out.Result().Cookies())
	}
	wantAnswer(t, send(t, h, request{path: "/topic", cookie: cookie}), 303, "")
	forged := *cookie
	forged.Value = strings.Repeat("A", len(cookie.Value))
	wantAnswer(t, send(t, h, request{path: "/topic", cookie: &forged}), 303, "")
}

func TestFormTokensAreOfOneSession(t *testing.T) {
	h, _ := dashboard(open)
	tokens := map[string]bool{}
	for range 3 {
		_, cookie := login(t, h, token, "", nil)
		for range 2 {
			_, csrf, _ := strings.Cut(send(t, h, request{path: "/", cookie: cookie}).Body.String(), "csrf=")
			csrf, _, _ = strings.Cut(csrf, " ")
			tokens[csrf] = true
		}
	}
	if len(tokens) != 3 || tokens[""] {
		t.Errorf("three sessions have the tokens %v", tokens)
	}
}

func TestALoginLeadsNowhereElse(t *testing.T) {
	h, _ := dashboard(open)
	for next, want := range map[string]string{
		"": "./", "topic?t=a%26b": "topic?t=a%26b", "audit": "audit", "//evil.example": "./", "https://evil.example/": "./", "/etc": "./", "../x": "./",
		"\\\\evil.example": "./", "javascript:alert(1)": "./", "a/../../b": "./", "topic\r\nX: y": "./",
	} {
		form := url.Values{dash.TokenField: {token}, dash.NextField: {next}}
		got := send(t, h, request{method: "POST", path: "/login", body: form.Encode()})
		if to := got.Header().Get("Location"); to != want {
			t.Errorf("%q leads to %q, want %q", next, to, want)
		}
	}
}

func TestSessionsEndByThemselvesAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := dashboard(open)
		enter := func() *http.Cookie { _, c := login(t, h, token, "", nil); return c }
		holds := func(c *http.Cookie) bool { return send(t, h, request{path: "/topic", cookie: c}).Code == http.StatusOK }
		idle, busy := enter(), enter()
		for range 13 {
			<-time.After(50 * time.Minute)
			if !holds(busy) {
				t.Fatal("a session ended that was used")
			}
		}
		if holds(idle) {
			t.Error("a session that nobody used holds after ten hours")
		}
		for range 3 {
			<-time.After(50 * time.Minute)
			_ = holds(busy)
		}
		if holds(busy) {
			t.Error("a session holds after twelve hours")
		}
		first := enter()
		<-time.After(time.Second)
		for range 64 {
			enter()
		}
		if holds(first) {
			t.Error("there are more than 64 sessions")
		}
	})
}

func TestWhoTriesTokensIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := dashboard(open)
		codes := func(n int, remote, with string) (list []int) {
			for range n {
				got, _ := login(t, h, with, remote, nil)
				list = append(list, got.Code)
			}
			return list
		}
		if got := fmt.Sprint(codes(5, "10.0.0.9:1", "wrong")); got != "[401 401 401 429 429]" {
			t.Errorf("got %s", got)
		}
		got, _ := login(t, h, token, "10.0.0.9:2", nil)
		if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "1" {
			t.Errorf("the right token meanwhile: %d, again after %q", got.Code, got.Header().Get("Retry-After"))
		}
		if got := codes(1, "10.0.0.8:1", token); got[0] != http.StatusSeeOther {
			t.Errorf("another address: %v", got)
		}
		tries := 0
		for end := time.Now().Add(time.Hour); time.Now().Before(end); <-time.After(time.Second) {
			if codes(1, "10.0.0.9:1", "wrong")[0] == http.StatusUnauthorized {
				tries++
			}
		}
		if tries > 70 {
			t.Errorf("%d tries in an hour, want about one a minute", tries)
		}
		<-time.After(time.Minute)
		if got := codes(1, "10.0.0.9:1", token); got[0] != http.StatusSeeOther {
			t.Errorf("the right one in the end: %v", got)
		}
	})
}

func TestWrongBearersAreSlowedDownByTheirNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := dashboard(open)
		try := func(remote, with string) int {
			return send(t, h, request{path: "/api/v1/overview", remote: remote, headers: map[string]string{"Authorization": "Bearer " + with, "Accept": "*/*"}}).Code
		}
		var got []int
		for i := range 5 {
			got = append(got, try(fmt.Sprintf("[2001:db8::%d]:1", i+1), "wrong"))
		}
		if fmt.Sprint(got) != "[401 401 429 429 429]" {
			t.Errorf("got %v", got)
		}
		if code := try("[2001:db8::77]:1", token); code != http.StatusTooManyRequests {
			t.Errorf("the right one meanwhile: %d", code)
		}
		if code := try("[2001:db8:0:1::1]:1", token); code != http.StatusOK {
			t.Errorf("another network: %d", code)
		}
		<-time.After(2 * time.Second)
		if code := try("[2001:db8::1]:1", token); code != http.StatusOK {
			t.Errorf("later: %d", code)
		}
	})
}

func TestWithoutATokenThereIsNothingToLogInTo(t *testing.T) {
	h, _ := dashboard(loopback)
	for _, with := range []string{"", "x"} {
		if got, cookie := login(t, h, with, "", nil); got.Code != http.StatusUnauthorized || cookie != nil {
			t.Errorf("%q: got %d with %v", with, got.Code, cookie)
		}
	}
}

func TestMachinesAreAnsweredAsEver(t *testing.T) {
	h, _ := dashboard(open)
	for path, want := range map[string]int{"/metrics": 401, "/healthz": 200, "/readyz": 200, "/probe": 401} {
		got := send(t, h, request{path: path, host: "any.example", headers: map[string]string{"Sec-Fetch-Site": "cross-site"}})
		if got.Code != want || got.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d, Connection: %q", path, got.Code, got.Header().Get("Connection"))
		}
	}
	list := send(t, h, request{path: "/", headers: map[string]string{"Accept": "*/*", "Authorization": "Bearer " + token}})
	wantAnswer(t, list, 200, "/metrics")
	wantAnswer(t, send(t, h, request{path: "/", headers: map[string]string{"Authorization": "Bearer " + token}}), 200, "page /")
}

func TestABodyIsBounded(t *testing.T) {
	h, _ := dashboard(writable)
	big := `{"reason":"` + strings.Repeat("x", 300<<10) + `"}`
	got := send(t, h, request{method: "POST", path: "/api/v1/topics/mail/pause", body: big, headers: map[string]string{"Content-Type": "application/json"}})
	var no struct{ Error string }
	if err := json.Unmarshal(got.Body.Bytes(), &no); err != nil || got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(no.Error, "262144") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
