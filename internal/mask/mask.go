package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Masker hides what its rules name, and what is obvious. It may be used by many goroutines.
type Masker struct {
	rules []rule
	open  bool // a rule ends with "*", so that it cannot be followed for certain outside of JSON
}

// New returns the Masker of these rules, each of which has passed Check.
func New(rules []string) *Masker {
	m := &Masker{}
	for _, text := range rules {
		r := parseRule(text)
		m.rules = append(m.rules, r)
		m.open = m.open || r.open()
	}
	return m
}

// JSON returns a job's text as it may be shown. One that is no JSON is masked as a text; where a rule can only be followed
// in JSON, nothing of it is shown.
func (m *Masker) JSON(text string) string {
	if json.Valid([]byte(text)) {
		w := walk{mask: m, text: text}
		w.value()
		return w.out.String() + w.text[w.at:]
	}
	if m.open {
		return fmt.Sprintf("%s (%d bytes that are no JSON)", Hidden, len(text))
	}
	return m.Text(text)
}

func (m *Masker) hides(path []string) bool {
	if obvious(path[len(path)-1]) {
		return true
	}
	for _, r := range m.rules {
		if r.hides(path) {
			return true
		}
	}
	return false
}

// walk goes through one JSON text that is valid, and writes what may be shown of it.
type walk struct {
	mask *Masker
	text string
	at   int // text up to here is in out
	path []string
	out  strings.Builder
}

// space copies blanks.
func (w *walk) space() {
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.at]) >= 0 {
		w.out.WriteByte(w.text[w.at])
		w.at++
	}
}

func (w *walk) value() {
	w.space()
	switch w.text[w.at] {
	case '{':
		w.list('}', w.field)
	case '[':
		w.list(']', w.value)
	case '"':
		w.string()
	default:
		w.scalar()
	}
	w.space()
}

// list copies an object or array, whose entries one writes.
func (w *walk) list(end byte, one func()) {
	w.copy(1)
	w.space()
	for w.text[w.at] != end {
		one()
		if w.text[w.at] == ',' {
			w.copy(1)
		}
	}
	w.copy(1)
}

func (w *walk) copy(n int) {
	w.out.WriteString(w.text[w.at : w.at+n])
	w.at += n
}

// field writes a name and its value, or what stands in the value's place.
func (w *walk) field() {
	w.space()
	raw := w.quoted()
	name := unquote(raw)
	w.out.WriteString(shown(raw, name, hideNumbers(name))) // a map may have phone numbers for names
	w.at += len(raw)
	w.space()
	w.copy(1) // the colon
	w.path = append(w.path, strings.ToLower(name))
	if w.mask.hides(w.path) {
		w.space()
		w.out.WriteString(`"` + Hidden + `"`)
		w.skip()
		w.space()
	} else {
		w.value()
	}
	w.path = w.path[:len(w.path)-1]
}

// string writes a text value. One that holds JSON itself, as PHP producers like to write, is masked inside, too.
func (w *walk) string() {
	raw := w.quoted()
	text := unquote(raw)
	w.out.WriteString(shown(raw, text, w.inside(text)))
	w.at += len(raw)
}

func (w *walk) inside(text string) string {
	start := strings.TrimLeft(text, " \t\r\n")
	if (strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[")) && json.Valid([]byte(text)) {
		inner := walk{mask: w.mask, text: text, path: w.path}
		inner.value()
		return inner.out.String()
	}
	return w.mask.Text(text)
}

// scalar writes a number, true, false or null.
func (w *walk) scalar() {
	end := w.at
	for end < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[end]) < 0 {
		end++
	}
	raw := w.text[w.at:end]
	if number := strings.TrimPrefix(raw, "-"); personal(number) || personal(wholeOf(number)) {
		raw = `"` + Hidden + `"`
	}
	w.out.WriteString(raw)
	w.at = end
}

// wholeOf returns a number without point and exponent, such as 1.38e10.
func wholeOf(raw string) string {
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// quoted returns the string that begins here, with its quotes.
func (w *walk) quoted() string {
	end := w.at + 1
	for w.text[end] != '"' {
		if w.text[end] == '\\' {
			end++
		}
		end++
	}
	return w.text[w.at : end+1]
}

// skip passes over a value without writing it.
func (w *walk) skip() {
	aside := walk{mask: &Masker{}, text: w.text, at: w.at}
	depth := 0
	for {
		switch c := aside.text[aside.at]; c {
		case '"':
			aside.at += len(aside.quoted())
		case '{', '[':
			depth++
			aside.at++
		case '}', ']':
			depth--
			aside.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			aside.at++
		default:
			aside.scalar()
		}
		if depth == 0 {
			w.at = aside.at
			return
		}
	}
}

func unquote(raw string) string {
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // it is valid
	return s
}

// shown returns raw, a text in JSON, as it stands if nothing in it was hidden.
func shown(raw, before, after string) string {
	if before == after {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(after) // strings can be encoded
	return strings.TrimSuffix(out.String(), "\n")
}
