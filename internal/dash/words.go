package dash

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The languages of the pages.
const (
	english = "en"
	chinese = "zh"
)

var languages = []string{english, chinese}

// message is one text in both languages.
type message struct{ en, zh string }

// words are the texts of one language.
type words string

// t returns the text of that name with args put in. A text for one alone is named name.one: the first argument
// decides, where it is a number. An unknown name comes back as it is; a test sees to it that there is none.
func (w words) t(name string, args ...any) string {
	if len(args) > 0 && isOne(args[0]) {
		if _, there := messages[name+".one"]; there {
			name += ".one"
		}
	}
	m, there := messages[name]
	if !there {
		return name
	}
	text := m.en
	if w == chinese {
		text = m.zh
	}
	if !strings.Contains(text, "%") {
		return text // a text for one alone has no number to put in
	}
	for i, arg := range args {
		switch n := arg.(type) {
		case int:
			args[i] = number(int64(n))
		case int64:
			args[i] = number(n)
		}
	}
	return fmt.Sprintf(text, args...)
}

func isOne(arg any) bool {
	switch n := arg.(type) {
	case int:
		return n == 1
	case int64:
		return n == 1
	}
	return false
}

// langCookie keeps the choice of a language.
const langCookie = "sidecar_lang"

// language is the one that r asks for: by ?lang=, by the cookie that an earlier one left, or by what its browser prefers.
func language(r *http.Request) (lang string, chosen bool) {
	if lang := r.URL.Query().Get("lang"); known(lang) {
		return lang, true
	}
	if c, err := r.Cookie(langCookie); err == nil && known(c.Value) {
		return c.Value, false
	}
	return preferred(r.Header.Get("Accept-Language")), false
}

func known(lang string) bool { return lang == english || lang == chinese }

// preferred reads an Accept-Language header. What nobody asked for in particular is English.
func preferred(header string) string {
	best, bestQ := english, 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		lang, _, _ := strings.Cut(strings.ToLower(tag), "-")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64)
		}
		if known(lang) && q > bestQ {
			best, bestQ = lang, q
		}
	}
	return best
}
