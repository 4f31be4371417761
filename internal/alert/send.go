package alert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	sendTimeout = 10 * time.Second
	answerMost  = 64 << 10
)

// newClient returns the client for all targets. It follows no redirection: a message is for the address that was given.
func newClient() *http.Client {
	return &http.Client{
		Timeout: sendTimeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     30 * time.Second,
			TLSHandshakeTimeout: sendTimeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is what came of sending a message.
type answer struct {
	result     result
	err        error
	retryAfter time.Duration
	text       string // what the service said, for people
}

// post sends a message to a target once.
func post(ctx context.Context, client *http.Client, t Target, m message) answer {
	req, err := request(ctx, t, m)
	if err != nil {
		return answer{result: refused, err: t.hide(err)}
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{result: unreachable, err: t.hide(err)}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	if err != nil {
		return answer{result: unreachable, err: t.hide(err)}
	}
	text = []byte(t.redact(string(text))) // before anything is cut: half a token would not be known for one
	a := t.judge(resp, text)
	a.text = fmt.Sprintf("HTTP %d %s", resp.StatusCode, short(string(text)))
	return a
}

func request(ctx context.Context, t Target, m message) (*http.Request, error) {
	body, err := t.body(m)
	if err != nil {
		return nil, err
	}
	address := string(t.URL)
	if t.Kind == DingTalk && t.Secret != "" {
		if address, err = dingTalkURL(address, string(t.Secret), m.at); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "sidecar")
	if t.Kind == JSON && t.Secret != "" {
		stamp := seconds(m.at)
		req.Header.Set("X-Sidecar-Timestamp", stamp)
		req.Header.Set("X-Sidecar-Signature", genericSign(stamp, string(t.Secret), body))
	}
	return req, nil
}

// tooMany are the codes in answers with status 200 that say so, by what the services document.
var tooMany = map[string][]int{
	DingTalk: {130101, 410100},
	WeCom:    {45009},
	Feishu:   {11232},
}

// judge reads an answer. The three services say 200 to what they refuse, too, and the reason in the body.
func (t Target) judge(resp *http.Response, text []byte) answer {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return answer{result: limited, err: errors.New("too many messages (HTTP 429)"), retryAfter: retryAfter(resp)}
	case resp.StatusCode >= 500:
		return answer{result: unreachable, err: fmt.Errorf("HTTP %d", resp.StatusCode), retryAfter: retryAfter(resp)}
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		return answer{result: refused, err: fmt.Errorf("HTTP %d: it leads elsewhere, which is not followed: want the address that it leads to", resp.StatusCode)}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return answer{result: refused, err: fmt.Errorf("HTTP %d: %s", resp.StatusCode, short(string(text)))}
	case t.Kind == JSON:
		return answer{result: sent}
	}
	code, why, ok := codeIn(text)
	switch {
	case !ok:
		return answer{result: refused, err: fmt.Errorf("want a JSON object with a code, got %q", short(string(text)))}
	case code == 0:
		return answer{result: sent}
	case slices.Contains(tooMany[t.Kind], code):
		return answer{result: limited, err: fmt.Errorf("too many messages (code %d: %s)", code, short(why))}
	}
	return answer{result: refused, err: fmt.Errorf("code %d: %s", code, short(why))}
}

// codeIn returns the code in an answer's body: errcode of DingTalk and WeCom, code or StatusCode of Feishu.
func codeIn(text []byte) (code int, why string, ok bool) {
	var body struct {
		ErrCode    *int   `json:"errcode"`
		ErrMsg     string `json:"errmsg"`
		Code       *int   `json:"code"`
		Msg        string `json:"msg"`
		StatusCode *int   `json:"StatusCode"`
	}
	if json.Unmarshal(text, &body) != nil {
		return 0, "", false
	}
	for _, found := range []*int{body.ErrCode, body.Code, body.StatusCode} {
		if found != nil {
			return *found, body.ErrMsg + body.Msg, true
		}
	}
	return 0, "", false
}

// retryAfter returns how long the server asks to be left alone, in seconds; 0 if it does not.
func retryAfter(resp *http.Response) time.Duration {
	n, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || n < 0 || n > 86400 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// hide takes the address out of an error.
func (t Target) hide(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return errors.New(t.redact(err.Error()))
}

// redact takes out of a text whatever of the address or the secret stands in it.
func (t Target) redact(text string) string {
	parts := []string{string(t.URL), string(t.Secret)}
	if u, err := url.Parse(string(t.URL)); err == nil {
		parts = append(parts, secretsOf(u)...)
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be part of another
	for _, part := range parts {
		if len(part) >= 8 {
			text = strings.ReplaceAll(text, part, "[hidden]")
		}
	}
	return text
}

// secretsOf returns what of an address may be a password, as it stands there and as it is meant.
func secretsOf(u *url.URL) (parts []string) {
	parts = append(parts, strings.Split(u.Path, "/")...)
	parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
	parts = append(parts, strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == '=' })...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	if password, ok := u.User.Password(); ok {
		parts = append(parts, password)
	}
	return parts
}

// Test sends a test message to t and returns what the service answered.
func Test(ctx context.Context, o Options, t Target) (said string, err error) {
	a := post(ctx, newClient(), t, message{
		name: o.called(), at: time.Now(), zone: o.Zone, language: o.Language,
		items: []item{{news: trial}},
	})
	if a.err != nil {
		return a.text, a.err
	}
	return a.text, nil
}
