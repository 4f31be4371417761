package dash_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidecar/internal/dash"
)

var (
	reader = dash.Viewer{Name: "web 127.0.0.1"}
	writer = dash.Viewer{Name: "web 127.0.0.1", MayWrite: true, ShowPayload: true, CSRF: "secret-of-this-session", LoggedIn: true}
)

// pages are made once for all tests: each request says in its context over which Source.
var pages = sync.OnceValue(func() http.Handler {
	return dash.New(fromContext{}, dash.Options{Timezone: time.UTC, Every: time.Millisecond, Streams: 4})
})

// ask sends a request of viewer's to pages over s.
func ask(t *testing.T, s dash.Source, viewer dash.Viewer, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	ctx := context.WithValue(dash.WithViewer(r.Context(), viewer), sourceKey{}, s)
	pages().ServeHTTP(rec, r.WithContext(ctx))
	return rec
}

func get(t *testing.T, s dash.Source, viewer dash.Viewer, path string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, s, viewer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+path, nil))
}

func post(t *testing.T, s dash.Source, viewer dash.Viewer, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return ask(t, s, viewer, r)
}

// pagesOf are all pages, in their states.
func pagesOf() map[string]*fake {
	bare := &fake{
		overview: dash.Overview{Now: fakeNow, Redis: dash.Redis{Up: true}, Sidecars: []dash.Sidecar{{Instance: "a:1", State: dash.SidecarRunning}}},
		topic:    dash.TopicView{Now: fakeNow, Topic: dash.Topic{Name: "order_timeout", Profile: dash.ProfileDelay, Mode: "worker"}},
		job:      dash.JobView{Now: fakeNow, Row: dash.JobRow{Ref: "d0", Key: dash.KeyReady}, MaxTries: -1},
	}
	away := busySource(9)
	away.overview.Redis = dash.Redis{Error: "dial tcp 127.0.0.1:6379: connect: connection refused"}
	away.overview.Sidecars, away.overview.Starting = nil, true
	full := busySource(200)
	full.overview.Redis.UsedBytes, full.overview.Stopping = full.overview.Redis.MaxBytes, true
	full.overview.Pools[0].Silent = 12
	list := busySource(3)
	list.topic.Topic.Profile = dash.ProfileList
	list.topic.Routes = []dash.Option{{Name: "sms_template", Value: "App\\Sms::template"}}
	for kind := range 8 {
		trouble(&list.topic.Topic, kind)
	}
	list.topic.Topic.State.Trouble, list.topic.Topic.State.Unconsumed = []string{"NOPERM no permissions"}, true
	list.topic.Topic.State.Paused.Until = time.Time{}
	list.jobs.Jobs[0].Unread, list.jobs.Jobs[0].Type, list.jobs.Jobs[0].UUID = "no JSON object", "sms", ""
	list.job.Payload.Pretty, list.job.Payload.Cut, list.job.Payload.Form, list.job.Mark = "", true, "igbinary", "done"
	return map[string]*fake{"busy": busySource(20), "full": full, "bare": bare, "away": away, "list": list}
}

var paths = []string{
	"", "?sort=dead&only=dead&q=order&p=2", "?only=wrong", "?only=paused", "?q=nothing-is-called-so",
	"topic?t=order_timeout", "topic?t=order_timeout&k=pool", "topic?t=order_timeout&k=ready", "topic?t=order_timeout&k=running&c=5",
	"topic?t=order_timeout&k=dead&error=502&from=2026-11-30T08:00&did=drop&n=1&gone=1&skipped=2&more=1&undo=u1",
	"job?t=order_timeout&ref=d0", "job?t=order_timeout&ref=d0&raw=1", "search", "search?q=ord_web&how=prefix", "search?q=x", "sidecars", "audit", "audit?t=order_timeout", "login",
}

var (
	// never is what no page may hold anywhere, in lower case: what a Content-Security-Policy refuses, what loads from
	// elsewhere, and what fmt says of wrong arguments.
	never = []string{"<script>", "<style", "javascript:", "%!", "zgotmplz", `"http:`, `"https:`, "'http:", "'https:", "(http:", "(https:"}
	// handler is an attribute that such a policy refuses, as style.
	handler = regexp.MustCompile(`^on[a-z]+$`)
	// families are what the names of messages begin with. A name stands behind a tag where it has no text.
	families = strings.Fields("problem overview topic job why do state event verb did act confirm error unit time chart tile col key pool sidecar search filter")
)

// forbidden returns what a page has that none may have, "" when there is nothing. It goes by words and pieces: one
// expression over whole pages would take most of the tests' time.
func forbidden(page string) string {
	page = strings.ToLower(page)
	for _, text := range never {
		if strings.Contains(page, text) {
			return text
		}
	}
	for word := range strings.FieldsSeq(page) {
		name, _, given := strings.Cut(word, "=")
		if given && (name == "style" || handler.MatchString(name)) {
			return name + "="
		}
	}
	for piece := range strings.SplitSeq(page, ">") {
		family, name, _ := strings.Cut(strings.TrimSpace(piece), ".")
		if slices.Contains(families, family) && name != "" && strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", rune(name[0])) {
			return family + "." + name
		}
	}
	return ""
}

func TestWhatNoPageMayHoldIsFound(t *testing.T) {
	for page, want := range map[string]string{
		`<p class="on">on = 1, style of https://x</p>`: "",
		`<b>job.php</b>`:       "job.php</b",
		"<b>\n Topic.none</b>": "topic.none</b",
		`<p STYLE="x">`:        "style=",
		"<a\nonclick='x'>":     "onclick=",
		`<a href="HTTPS://x">`: `"https:`,
		`<script>`:             "<script>",
		"%!s(int=1)":           "%!",
	} {
		if got := forbidden(page); got != want {
			t.Errorf("%q has %q, want %q", page, got, want)
		}
	}
}

func TestEveryPageIsWholeInEveryStateAndLanguage(t *testing.T) {
	for state, source := range pagesOf() {
		paths := paths
		if state == "full" {
			paths = paths[:4]
		}
		for _, path := range paths {
			for _, lang := range []string{"en", "zh"} {
				for who, viewer := range map[string]dash.Viewer{"reader": reader, "writer": writer} {
					if state == "full" && (lang != "en" || who != "writer") {
						continue // long pages of what shorter ones show in each way
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", state, path, lang, who), func(t *testing.T) {
						sep := "?"
						if strings.Contains(path, "?") {
							sep = "&"
						}
						rec := get(t, source, viewer, path+sep+"lang="+lang)
						page := rec.Body.String()
						if rec.Code != http.StatusOK || !strings.HasSuffix(page, "</html>\n") {
							t.Fatalf("status %d, page ends with %q", rec.Code, page[max(0, len(page)-80):])
						}
						if found := forbidden(page); found != "" {
							t.Errorf("page has %q", found)
						}
						want := map[string]string{"en": `<html lang="en">`, "zh": `<html lang="zh-CN">`}[lang]
						if !strings.Contains(page, want) {
							t.Errorf("page is not in %s", lang)
						}
						if who == "reader" && (strings.Contains(page, `action="act"`) || strings.Contains(page, `action="confirm"`)) {
							t.Error("page offers an act to somebody who may do none")
						}
					})
				}
			}
		}
	}
}

func TestChinesePagesHaveNoEnglishSentences(t *testing.T) {
	// Words that stand in every English page, and in no name, option or error of the fake.
	english := regexp.MustCompile(`\b(the|and|of|is|are|with|than|its)\b`)
	tags := regexp.MustCompile(`(?s)<(pre|code|bdi|option).*?</(pre|code|bdi|option)>|<[^>]*>`)
	for _, path := range paths {
		sep := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		page := tags.ReplaceAllString(get(t, busySource(9), writer, path+sep+"lang=zh").Body.String(), " ")
		if found := english.FindString(page); found != "" {
			at := strings.Index(page, " "+found+" ")
			t.Errorf("%s has English: …%s…", path, page[max(0, at-60):min(len(page), at+60)])
		}
	}
}

func TestThePolicyOfPagesRefusesWhatIsInlineOrFromElsewhere(t *testing.T) {
	h := get(t, busySource(3), reader, "").Header()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8", "Vary": "Accept-Language",
	} {
		if !strings.HasPrefix(h.Get(name), want) {
			t.Errorf("%s is %q, want %q", name, h.Get(name), want)
		}
	}
}

func TestAllLinksAreRelativeToTheRootOfThePages(t *testing.T) {
	links := regexp.MustCompile(`(?:href|src|action|data-live|data-stream)="([^"]*)"`)
	for _, path := range paths {
		for _, found := range links.FindAllStringSubmatch(get(t, busySource(9), writer, path).Body.String(), -1) {
			if link := found[1]; strings.HasPrefix(link, "/") || strings.Contains(link, "://") || strings.HasPrefix(link, "..") {
				t.Errorf("%s links to %q: behind a prefix that leads elsewhere", path, link)
			}
		}
	}
}

func TestAnAlarmOfAPoolLeadsToThePoolsAndSaysItsReading(t *testing.T) {
	page := get(t, busySource(3), writer, "").Body.String()
	if strings.Contains(page, "topic?t=reports") || strings.Count(page, `<a href="sidecars#pools-h"><bdi>reports</bdi></a>`) != 2 {
		t.Error("an alarm of a pool leads elsewhere than to the pools")
	}
	if !strings.Contains(page, "The oldest due job waits for 7 min 36 s, limit 5 min") || !strings.Contains(page, "PHP-FPM does not answer: connection refused") {
		t.Error("an alarm does not say what was found")
	}
	if page := get(t, busySource(3), writer, "sidecars").Body.String(); !strings.Contains(page, `id="pools-h"`) {
		t.Error("the pools have no such place")
	}
}

func TestWhatTheSourceSaysAgainstAPageIsShownAsAPage(t *testing.T) {
	tests := map[string]struct {
		err  error
		path string
		code int
		want string
	}{
		"unknown topic":  {nil, "topic?t=nobody", http.StatusNotFound, "Not here"},
		"job has moved":  {nil, "job?t=order_timeout&ref=gone&uuid=ord_1", http.StatusNotFound, `href="search?how=id&amp;q=ord_1"`},
		"redis away":     {fmt.Errorf("read: %w: refused", dash.ErrRedis), "audit", http.StatusServiceUnavailable, "Redis does not answer"},
		"not permitted":  {dash.ErrDenied, "job?t=a&ref=b", http.StatusForbidden, "Not permitted"},
		"anything else":  {errors.New("odd <b>thing</b>"), "sidecars", http.StatusInternalServerError, "odd &lt;b&gt;thing"},
		"no such page":   {nil, "nowhere/at/all", http.StatusNotFound, "Not here"},
		"time in filter": {nil, "topic?t=order_timeout&from=yesterday", http.StatusBadRequest, "2026-11-30 08:15"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := busySource(3)
			s.err = tt.err
			rec := get(t, s, reader, tt.path)
			if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.want) || !strings.HasSuffix(rec.Body.String(), "</html>\n") {
				t.Errorf("got %d, want %d with %q in a whole page; got %s", rec.Code, tt.code, tt.want, rec.Body)
			}
		})
	}
}

func TestJobsThatCannotBeReadLeaveTheRestOfTheTopicPage(t *testing.T) {
	s := &brokenJobs{busySource(3)}
	page := get(t, s, reader, "topic?t=order_timeout").Body.String()
	for _, want := range []string{"The jobs cannot be shown.", "NOPERM", "The last hour"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

func TestATopicWithoutRunsOfLateShowsNoTimes(t *testing.T) {
	s := busySource(3)
	s.topic.Topic.Recent.P50, s.topic.Topic.Recent.P99 = 0, 0
	page := get(t, s, reader, "topic?t=order_timeout").Body.String()
	if n := strings.Count(page, "no run in five minutes"); n != 2 {
		t.Errorf("%d of two tiles say that nothing ran", n)
	}
	if page = get(t, busySource(3), reader, "topic?t=order_timeout").Body.String(); strings.Contains(page, "no run in five minutes") {
		t.Error("the page misses the runs")
	}
}

type brokenJobs struct{ *fake }

func TestHostileTextsAreShownAsTextsOnly(t *testing.T) {
	const bad = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202egnp.exe\x00"
	s := busySource(3)
	s.overview.Topics[0].Name, s.overview.Topics[0].State.Shut, s.overview.Redis.Error = bad, []string{bad}, bad
	s.overview.Pools[0].Down, s.overview.Sidecars[0].Instance, s.overview.Alarms[0].Text = bad, bad, bad
	s.topic.Topic.Name, s.topic.Options[0].Value = bad, bad
	row := dash.JobRow{Ref: bad, Topic: bad, Key: dash.KeyDead, UUID: bad, Error: bad, Type: bad, Holder: bad}
	s.jobs.Jobs[0], s.job.Row, s.steps[0].Found = row, row, []dash.JobRow{row}
	s.job.Trace, s.job.LastError, s.job.Payload.Pretty, s.job.Payload.Raw = bad, bad, bad, bad
	s.lines[0].By, s.lines[0].Filter, s.lines[0].UUID = bad, bad, bad
	q := url.QueryEscape(bad)
	for _, path := range []string{"", "?q=" + q, "topic?t=" + q, "topic?k=dead&t=" + q + "&error=" + q, "job?t=" + q + "&ref=" + q, "job?raw=1&t=" + q + "&ref=" + q, "search?q=" + q, "audit", "sidecars", "login?next=" + q} {
		// What is in a field comes back as it was written: there it turns nothing around it.
		page := regexp.MustCompile(`value="[^"]*"`).ReplaceAllString(get(t, s, writer, path).Body.String(), "")
		for _, never := range []string{"<script>", "<img", "\u202e", "\x00", "onerror=alert(1)>"} {
			if strings.Contains(page, never) {
				t.Errorf("%.30s has %q", path, never)
			}
		}
		if !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("%.30s is no whole page: %.200s", path, page)
		}
	}
}

func TestALongTextIsCutAndTheReaderTold(t *testing.T) {
	s := busySource(3)
	s.job.Payload.Pretty = strings.Repeat("好", 1<<20)
	s.job.Row.Error = strings.Repeat("e", 1<<20)
	rec := get(t, s, writer, "job?t=order_timeout&ref=d0")
	if page := rec.Body.String(); len(page) > 300<<10 || !strings.Contains(page, "Only its beginning is shown") {
		t.Errorf("page of %d bytes, want it cut and told", len(page))
	}
}

func TestATextIsShownOnlyToWhomItMayBeShown(t *testing.T) {
	for path, viewer := range map[string]dash.Viewer{"job?t=order_timeout&ref=d0": reader, "job?t=order_timeout&ref=d0&raw=1": {MayWrite: true}} {
		page := get(t, busySource(3), viewer, path).Body.String()
		if strings.Contains(page, "order_id") || !strings.Contains(page, "admin.show_payload") {
			t.Errorf("%s shows a text to somebody who may not see it", path)
		}
	}
}

func TestTheLoginPageAsksForTheTokenAndGoesOnWhereItWasAskedFor(t *testing.T) {
	for next, want := range map[string]string{
		"topic?t=a": `value="topic?t=a"`, "https://evil.example/": `name="next" value=""`, "//evil.example": `name="next" value=""`,
		"javascript:alert(1)": `name="next" value=""`, `/\evil`: `name="next" value=""`, "": `name="next" value=""`,
	} {
		if page := get(t, busySource(1), reader, "login?next="+url.QueryEscape(next)).Body.String(); !strings.Contains(page, want) {
			t.Errorf("login for %q lacks %s", next, want)
		}
	}
	rec := httptest.NewRecorder()
	dash.New(busySource(1), dash.Options{}).Login(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/login", nil), http.StatusUnauthorized, true)
	if rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Body.String(), "That is not the token.") {
		t.Errorf("a wrong token is answered with %d: %s", rec.Code, rec.Body)
	}
}

func TestAssetsAreKeptForGoodOnlyUnderTheirOwnName(t *testing.T) {
	page := get(t, busySource(1), reader, "").Body.String()
	found := regexp.MustCompile(`assets/app\.css\?v=[0-9a-f]+`).FindString(page)
	for path, want := range map[string]string{found: "immutable", "assets/app.css": "no-cache", "assets/app.js?v=old": "no-cache"} {
		if rec := get(t, busySource(1), reader, path); rec.Code != http.StatusOK || !strings.Contains(rec.Header().Get("Cache-Control"), want) {
			t.Errorf("%s: %d, Cache-Control %q, want %q", path, rec.Code, rec.Header().Get("Cache-Control"), want)
		}
	}
	if rec := get(t, busySource(1), reader, "assets/../source.go"); rec.Code == http.StatusOK {
		t.Error("something else than an asset is served")
	}
}

func TestTheLanguageIsTheBrowsersUntilOneIsChosen(t *testing.T) {
	tests := map[string]struct{ accept, cookie, query, want string }{
		"nothing said":          {"", "", "", "en"},
		"chinese browser":       {"zh-CN,zh;q=0.9,en;q=0.8", "", "", "zh-CN"},
		"english first":         {"en-US,en;q=0.9,zh;q=0.5", "", "", "en"},
		"neither":               {"fr,de;q=0.5", "", "", "en"},
		"french, then chinese":  {"fr, zh-TW;q=0.3", "", "", "zh-CN"},
		"cookie beats browser":  {"en", "zh", "", "zh-CN"},
		"query beats cookie":    {"en", "zh", "en", "en"},
		"cookie with rubbish":   {"zh", "xx", "", "zh-CN"},
		"query with rubbish":    {"zh", "", "<x>", "zh-CN"},
		"broken header is none": {";;;q=,q=x", "", "", "en"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/audit?lang="+url.QueryEscape(tt.query), nil)
			r.Header.Set("Accept-Language", tt.accept)
			if tt.cookie != "" {
				r.AddCookie(&http.Cookie{Name: "sidecar_lang", Value: tt.cookie})
			}
			rec := ask(t, busySource(1), reader, r)
			if got := rec.Header().Get("Content-Language"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if kept := len(rec.Result().Cookies()) > 0; kept != (tt.query == "en") {
				t.Errorf("choice kept: %t", kept)
			}
		})
	}
}
