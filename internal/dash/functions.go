package dash

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
)

// How much of a text is shown where.
const (
	rowText    = 140      // in a table
	reasonText = 400      // why something is not as it should be: it names paths and what was found there
	longText   = 4_000    // an error, a trace
	codeText   = 64 << 10 // a job's text
)

// functions are what templates can call, in one language.
func functions(w words, zone *time.Location, a assets) template.FuncMap {
	choose := func(yes bool, then, otherwise string) string {
		if yes {
			return then
		}
		return otherwise
	}
	return template.FuncMap{
		"t":       w.t,
		"asset":   a.link,
		"number":  number,
		"rate":    rate,
		"size":    size,
		"share":   share,
		"length":  func(s Seconds) string { return length(w, s.Duration()) },
		"when":    func(t, now time.Time) moment { return when(w, t, now, zone) },
		"zone":    func(now time.Time) string { return now.In(zone).Format("MST -07:00") },
		"spark":   func(now time.Time, minutes []Minute) spark { return newSpark(w, now, minutes) },
		"shares":  func(o Outcomes) shares { return newShares(w, o) },
		"meter":   func(title string, used, most int) meter { return newMeter(title, int64(used), int64(most)) },
		"some":    func(s string) string { return clipped(s, rowText) },
		"reason":  func(s string) string { return clipped(s, reasonText) },
		"long":    func(s string) string { return clipped(s, longText) },
		"code":    func(s string) string { return clipped(s, codeText) },
		"choose":  choose,
		"link":    link,
		"dict":    dict,
		"partID":  partID,
		"reading": func(r Reading) string { return readingText(w, r) },
		"verb":    func(verb string) string { return verbName(w, verb) },
		"int64":   func(n int) int64 { return int64(n) },
		"minus":   func(a, b int) int { return a - b },
	}
}

// clipped is the beginning of a hostile text, with a sign where it goes on.
func clipped(s string, n int) string {
	s, more := cut(s, n)
	if more {
		return plain(s) + " …"
	}
	return plain(s)
}

// verbName is what a verb of the audit trail is called. Other versions may know others: they are shown as they are.
func verbName(w words, verb string) string {
	if _, there := messages["verb."+verb]; there {
		return w.t("verb." + verb)
	}
	return clipped(verb, rowText)
}

// link is a relative link to a page with name and value in turn; what is empty is left out.
func link(page string, pairs ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := fmt.Sprint(pairs[i+1]); value != "" {
			q.Set(fmt.Sprint(pairs[i]), value)
		}
	}
	if page == "" {
		page = "./"
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// dict makes a map of name and value in turn, for templates that want more than one thing.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict of %d values: want pairs", len(pairs))
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict with a name that is a %T", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// partID is the id of the place of a part.
func partID(part string) string { return strings.ReplaceAll(part, ".", "-") }
