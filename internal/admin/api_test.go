package admin_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sidecar/internal/admin"
)

func TestTheAPIsPageListsItsRoutes(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:GET|POST) /[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1])
	}
	served := admin.Routes()
	slices.Sort(listed)
	slices.Sort(served)
	if !slices.Equal(listed, served) {
		t.Errorf("docs/api.md lists %q\nserved are %q", listed, served)
	}
	h, _ := dashboard(writable)
	for _, route := range served {
		method, path, _ := strings.Cut(route, " ")
		path = "/api/v1" + strings.NewReplacer("{topic}", "mail", "{ref}", "r").Replace(path)
		if route == "GET /events" {
			continue // it has no end
		}
		if got := order(t, h, method, path, "{}", nil); got.Code == http.StatusNotFound || got.Code == http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", route, got.Code, got.Body)
		}
		other := map[string]string{"GET": "POST", "POST": "GET"}[method]
		if got := order(t, h, other, path, "", nil); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != method {
			t.Errorf("%s %s: %d, Allow: %q", other, path, got.Code, got.Header().Get("Allow"))
		}
	}
}

// order sends JSON, as a program does.
func order(t *testing.T, h http.Handler, method, path, body string, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	all := map[string]string{"Accept": "application/json", "Content-Type": "application/json"}
	maps.Copy(all, headers)
	return send(t, h, request{method: method, path: path, body: body, headers: all})
}

func TestTheAPIAnswersInTheShapesOfThePages(t *testing.T) {
	h, _ := dashboard(writable)
	for path, want := range map[string]string{
		"/overview":                          `"version":"v-test"`,
		"/topics":                            `"name":"mail"`,
		"/topics/mail":                       `"topic":{"name":"mail"`,
		"/topics/a%2Fb":                      `"name":"a/b"`,
		"/topics/mail/jobs?key=dead&error=x": `"error":"x"`,
		"/topics/mail/jobs?key=pool&limit=7": `"total":7`,
		"/topics/mail/jobs/dead_0_1":         `"ref":"dead_0_1"`,
		"/pools":                             `"name":"default"`,
		"/sidecars":                          `"instance":"i"`,
		"/alerts":                            `[]`,
		"/audit":                             `[]`,
		"/search?uuid=a":                     `"next":"1"`,
		"/search?prefix=a&cursor=1":          `"uuid":"a"`,
		"/topics/mail/jobs?key=dead&from=2026-01-02T00:00:00Z": `"key":"dead"`,
	} {
		got := order(t, h, "GET", "/api/v1"+path, "", nil)
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) || !json.Valid(got.Body.Bytes()) || got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

func TestTheAPISaysWhatIsWrong(t *testing.T) {
	h, source := dashboard(writable)
	tests := map[string]struct {
		method, path, body string
		code               int
		says               string
	}{
		"no such path":          {"GET", "/none", "", 404, "docs/api.md"},
		"no such topic":         {"GET", "/topics/none", "", 404, "not found"},
		"no key":                {"GET", "/topics/mail/jobs", "", 400, "want one of pool, ready, running, dead"},
		"a limit that is none":  {"GET", "/topics/mail/jobs?key=dead&limit=x", "", 400, "want a number"},
		"a time that is none":   {"GET", "/topics/mail/jobs?key=dead&from=today", "", 400, "want a time such as"},
		"the zero time":         {"GET", "/topics/mail/jobs?key=dead&to=0001-01-01T00:00:00Z", "", 400, `to = \"0001-01-01T00:00:00Z\": want a time not before 1970, got one of the year 1`},
		"a bound that is none":  {"POST", "/topics/mail/drop", `{"filter":{"type":"x","to":"0001-01-01T00:00:00Z"}}`, 400, "filter: to: want a time not before 1970, got one of the year 1"},
		"an unknown filter":     {"POST", "/topics/mail/drop", `{"filter":{"type":"x","until":"2026-11-30T00:00:00Z"}}`, 400, "until"},
		"two things at once":    {"GET", "/search?uuid=a&prefix=b", "", 400, "want one of uuid, prefix, text and field, got 2 of them"},
		"redis away":            {"GET", "/search?uuid=a&cursor=9", "", 503, "redis does not answer"},
		"no JSON":               {"POST", "/topics/mail/drop", "{", 400, "one JSON object"},
		"more behind it":        {"POST", "/topics/mail/drop", `{"limit":1}{}`, 400, "nothing behind it"},
		"an unknown field":      {"POST", "/topics/mail/drop", `{"all":true}`, 400, "all"},
		"all jobs":              {"POST", "/topics/mail/drop", `{}`, 400, "all jobs of dead"},
		"another topic's":       {"POST", "/topics/mail/drop", `{"topic":"x","limit":1}`, 400, `want that of the path`},
		"another key's":         {"POST", "/topics/mail/drop", `{"key":"ready","limit":1}`, 400, `want \"dead\"`},
		"undo of nothing":       {"POST", "/undo", `{}`, 400, "what a replay or a drop has answered"},
		"a proxy's forged path": {"GET", "/../api/v1/../none", "", 307, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := order(t, h, tt.method, "/api/v1"+tt.path, tt.body, nil)
			if got.Code != tt.code || !strings.Contains(got.Body.String(), tt.says) {
				t.Errorf("got %d %s, want %d …%s…", got.Code, got.Body, tt.code, tt.says)
			}
		})
	}
	if len(source.did) > 0 {
		t.Errorf("it did %v", source.did)
	}
}

func TestOrdersAreDoneByWhoMay(t *testing.T) {
	bearer := map[string]string{"Authorization": "Bearer " + token}
	const path = "/api/v1/topics/mail/drop"
	for name, tt := range map[string]struct {
		door    admin.DoorOptions
		headers map[string]string
		code    int
		says    string
	}{
		"reading only":            {loopback, nil, 403, "admin.write = true"},
		"let":                     {writable, nil, 200, `"undo":"u"`},
		"a socket":                {unixDoor, nil, 200, `"undo":"u"`},
		"no token":                {open, nil, 401, "Authorization: Bearer"},
		"a wrong token":           {open, map[string]string{"Authorization": "Bearer no"}, 401, "Authorization: Bearer"},
		"the token":               {open, bearer, 200, `"undo":"u"`},
		"a form":                  {writable, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "want application/json"},
		"a form in plain":         {writable, map[string]string{"Content-Type": "text/plain"}, 415, "want application/json"},
		"no type":                 {writable, map[string]string{"Content-Type": ""}, 415, "want application/json"},
		"a proxy, without tokens": {writable, map[string]string{"X-Real-Ip": "1.2.3.4"}, 403, "admin.token_file"},
	} {
		t.Run(name, func(t *testing.T) {
			h, source := dashboard(tt.door)
			got := order(t, h, "POST", path, `{"refs":["a","b"]}`, tt.headers)
			wantAnswer(t, got, tt.code, tt.says)
			if done := len(source.did) == 1; done != (tt.code == 200) || done && source.did[0] != "drop mail dead [a b] by web 127.0.0.1" {
				t.Errorf("it did %v", source.did)
			}
		})
	}
}

func TestASessionOrdersWithItsFormTokenOnly(t *testing.T) {
	h, source := dashboard(open)
	_, cookie := login(t, h, token, "", nil)
	_, csrf, _ := strings.Cut(send(t, h, request{path: "/", cookie: cookie}).Body.String(), "csrf=")
	csrf, _, _ = strings.Cut(csrf, " ")
	for given, code := range map[string]int{"": 403, "x": 403, csrf: 200} {
		got := send(t, h, request{
			method: "POST", path: "/api/v1/topics/mail/pause", body: `{"for_seconds":60,"reason":"r"}`, cookie: cookie,
			headers: map[string]string{"Content-Type": "application/json", "X-CSRF-Token": given},
		})
		if got.Code != code {
			t.Errorf("with %q: %d %s", given, got.Code, got.Body)
		}
	}
	if len(source.did) != 1 || source.did[0] != "pause mail 1m0s r" {
		t.Errorf("it did %v", source.did)
	}
}
