package alert_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidecar/internal/alert"
	"sidecar/queue"
)

// overload is the alarm that docs/alerts.md shows, and what has ended at the same moment.
func overload(t *testing.T, kind, language string, set func(*alert.Target)) (body string, asked *http.Request) {
	t.Helper()
	r := newReceiver(t)
	w := newWorld(t, r, kind, rule("overload", func(r *alert.Rule) {
		r.Backlog, r.RedisLatency, r.Dead, r.For, r.Severity = alert.Over(1000), alert.Over(0.5), alert.Over(10), 0, alert.Critical
	}), rule("down", func(r *alert.Rule) { r.FPMDown, r.For = true, 0 }))
	w.opts.Language = language
	w.opts.Zone = time.FixedZone("", 8*3600)
	s := w.sidecar("web2-4711-qx7v2a")
	s.pools["default"] = alert.Pool{Down: "connection refused"}
	w.pass(10*time.Second, s)
	r.took()
	s.pools["default"] = alert.Pool{}
	w.pass(time.Minute, s)
	set(&w.opts.Targets[0])
	s.topics["order_timeout"] = alert.Topic{Known: true, Backlog: 1532, Dead: 12, Pool: "default"}
	s.redis.Latency = 812 * time.Millisecond
	w.pass(10*time.Second, s)
	bodies := r.took()
	if len(bodies) != 1 {
		t.Fatalf("%d messages, want one: %s", len(bodies), bodies)
	}
	return bodies[0], r.asked[len(r.asked)-1]
}

// example returns the block of docs/alerts.md below the heading.
func example(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n### " + heading + "\n.*?```json\n(.*?)```").FindStringSubmatch(string(page))
	if m == nil {
		t.Fatalf("docs/alerts.md shows no %s", heading)
	}
	return m[1]
}

func TestEachBodyIsAsThePageShowsIt(t *testing.T) {
	tests := map[string]struct {
		kind, language string
		at             []string
	}{
		"DingTalk":     {alert.DingTalk, alert.Chinese, []string{"manager4220"}},
		"WeCom":        {alert.WeCom, alert.Chinese, []string{"lihua", "all"}},
		"Feishu":       {alert.Feishu, alert.English, []string{"ou_18eac85d35a26f989317ad4f02e8bbbb"}},
		"Generic JSON": {alert.JSON, alert.English, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body, _ := overload(t, tt.kind, tt.language, func(target *alert.Target) { target.At = tt.at })
			var got, want any
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(example(t, name)), &want); err != nil {
				t.Errorf("the page: %v", err)
			}
			pretty, _ := json.MarshalIndent(got, "", "  ")
			shown, _ := json.MarshalIndent(want, "", "  ")
			if string(pretty) != string(shown) {
				t.Errorf("got\n%s\nwant\n%s", pretty, shown)
			}
		})
	}
}

const secret = "SECa1b2c3d4"

func macOf(key, text string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(h, text)
	return h.Sum(nil)
}

func TestMessagesAreSignedAsEachServiceWants(t *testing.T) {
	signed := func(target *alert.Target) { target.Secret = secret }

	_, asked := overload(t, alert.DingTalk, alert.English, signed)
	q := asked.URL.Query()
	want := base64.StdEncoding.EncodeToString(macOf(secret, q.Get("timestamp")+"\n"+secret))
	if q.Get("sign") != want || len(q.Get("timestamp")) != 13 || q.Get("access_token") != "t0ken-of-the-group" {
		t.Errorf("DingTalk: %s", asked.URL)
	}

	body, _ := overload(t, alert.Feishu, alert.English, signed)
	var m struct{ Timestamp, Sign string }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	want = base64.StdEncoding.EncodeToString(macOf(m.Timestamp+"\n"+secret, ""))
	if m.Sign != want || len(m.Timestamp) != 10 {
		t.Errorf("Feishu: %+v", m)
	}

	body, asked = overload(t, alert.JSON, alert.English, signed)
	want = "sha256=" + hex.EncodeToString(macOf(secret, asked.Header.Get("X-Sidecar-Timestamp")+"."+body))
	if got := asked.Header.Get("X-Sidecar-Signature"); got != want {
		t.Errorf("generic: %q, want %q", got, want)
	}
	if strings.Contains(body, secret) {
		t.Error("the secret is in the message")
	}
}

// What a service answers, and what that is taken for. The three say 200 to what they refuse.
func TestAnAnswerIsReadToItsCode(t *testing.T) {
	tests := map[string]struct {
		kind   string
		status int
		body   string
		want   string // in the error; "" = it was taken
	}{
		"taken by DingTalk":         {alert.DingTalk, 200, `{"errcode":0,"errmsg":"ok"}`, ""},
		"signature of DingTalk":     {alert.DingTalk, 200, `{"errcode":310000,"errmsg":"sign not match"}`, "code 310000: sign not match"},
		"too many for DingTalk":     {alert.DingTalk, 200, `{"errcode":130101,"errmsg":"send too fast"}`, "too many messages (code 130101: send too fast)"},
		"too many for WeCom":        {alert.WeCom, 200, `{"errcode":45009,"errmsg":"api freq out of limit"}`, "too many messages"},
		"key of WeCom":              {alert.WeCom, 200, `{"errcode":93000,"errmsg":"invalid webhook url"}`, "code 93000"},
		"taken by Feishu":           {alert.Feishu, 200, `{"code":0,"msg":"success","StatusCode":0}`, ""},
		"taken by Feishu of before": {alert.Feishu, 200, `{"Extra":null,"StatusCode":0,"StatusMessage":"success"}`, ""},
		"signature of Feishu":       {alert.Feishu, 200, `{"code":19021,"msg":"sign match fail"}`, "code 19021: sign match fail"},
		"too many for Feishu":       {alert.Feishu, 200, `{"code":11232,"msg":"frequency limited"}`, "too many messages"},
		"a page of a proxy":         {alert.WeCom, 200, `<html>login</html>`, "want a JSON object with a code"},
		"no code":                   {alert.Feishu, 200, `{}`, "want a JSON object with a code"},
		"any body will do":          {alert.JSON, 204, ``, ""},
		"a redirection":             {alert.JSON, 302, ``, "HTTP 302"},
		"refused":                   {alert.JSON, 403, `who are you`, "HTTP 403: who are you"},
		"out of order":              {alert.JSON, 503, ``, "HTTP 503"},
		"too many":                  {alert.JSON, 429, ``, "too many messages (HTTP 429)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			r.answers(func(w http.ResponseWriter) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			o := newWorld(t, r, tt.kind).opts
			said, err := alert.Test(t.Context(), o, o.Targets[0])
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("said %q, error %v, want %q", said, err, tt.want)
			}
			if len(r.took()) != 1 {
				t.Error("want one message")
			}
		})
	}
}

func TestAReceiverThatHasTooMuchIsLeftAlone(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, backlogRule())
	s := w.sidecar("a")
	s.backlog(2000)
	r.answers(func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "180")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	w.pass(2*time.Minute+10*time.Second, s)
	if n := len(r.took()); n != 1 {
		t.Fatalf("%d messages", n)
	}
	r.answers(func(http.ResponseWriter) {})
	w.pass(170*time.Second, s)
	wantTold(t, r)
	w.pass(10*time.Second, s)
	wantTold(t, r, "firing backlog orders")
}

func TestATargetGetsNoMoreMessagesThanItsRate(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.JSON, rule("dead", func(r *alert.Rule) { r.Dead, r.For = alert.Over(0), 0 }))
	w.opts.Targets[0].Rate = 2
	a, b := w.sidecar("a"), w.sidecar("b")
	topics := map[string]alert.Topic{}
	a.topics, b.topics = topics, topics
	for i := range 60 { // a new alarm with every look
		topics[fmt.Sprintf("t%02d", i)] = alert.Topic{Known: true, Dead: 1}
		w.pass(10*time.Second, a, b)
	}
	if n := len(r.took()); n > 21 {
		t.Errorf("%d messages in ten minutes, want 20", n)
	}
}

// A receiver that takes the connection and never answers holds up neither looks nor the other target.
func TestAHangingReceiverHoldsUpNobody(t *testing.T) {
	hanging, r := newReceiver(t), newReceiver(t)
	release := make(chan struct{})
	hanging.answers(func(http.ResponseWriter) { <-release })
	defer close(release)
	w := newWorld(t, r, alert.JSON, backlogRule())
	w.patience = time.Second
	other := w.opts.Targets[0]
	other.Name, other.URL = "hanging", queue.Secret(hanging.URL)
	w.opts.Targets = append(w.opts.Targets, other)
	s := w.sidecar("a")
	s.backlog(2000)
	w.pass(130*time.Second, s)
	wantTold(t, r, "firing backlog orders")
	fields, err := w.ledger.Read(t.Context(), queue.AlertTargets)
	if err != nil || !strings.Contains(fields["hanging"], "Timeout") || strings.Contains(fields["ops"], "error") {
		t.Errorf("%v: %s", err, fields)
	}
}

func TestAMessageStaysWithinWhatWeComTakes(t *testing.T) {
	r := newReceiver(t)
	w := newWorld(t, r, alert.WeCom, rule("stalled", func(r *alert.Rule) { r.Stalled, r.For = true, 0 }))
	w.opts.Language = alert.Chinese
	s := w.sidecar("a")
	for i := range 100 {
		s.topics[fmt.Sprintf("topic_%03d", i)] = alert.Topic{Known: true, Stalled: strings.Repeat("很长的理由", 40)}
	}
	w.pass(10*time.Second, s)
	bodies := r.took()
	var m struct{ Markdown struct{ Content string } }
	if len(bodies) != 1 || json.Unmarshal([]byte(bodies[0]), &m) != nil {
		t.Fatalf("%d messages", len(bodies))
	}
	if n := len(m.Markdown.Content); n > 4096 || n < 2000 || !strings.Contains(m.Markdown.Content, "sidecar alert list") {
		t.Errorf("%d bytes: %s", n, m.Markdown.Content)
	}
	w.pass(time.Minute, s)
	wantTold(t, r) // those that found no room were told by their number
}
