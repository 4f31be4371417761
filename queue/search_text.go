package queue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sidecar/compat"
)

// Field is what a field of a job's text is looked for by.
type Field struct {
	Name  string // its name, or the last names of its path with dots between them; large and small letters are the same
	Value string // a text's characters; of a number, true, false and null as JSON writes it
}

// ParseField reads name=value. ok is false where one of them is missing.
func ParseField(text string) (f Field, ok bool) {
	name, value, ok := strings.Cut(text, "=")
	return Field{name, value}, ok && value != "" && !slices.Contains(strings.Split(name, "."), "")
}

// Says reports whether a job's text has in it what the query's Text and Fields ask for.
func (q Query) Says(text string) bool {
	if q.Text != "" && !strings.Contains(text, q.Text) && !strings.Contains(compat.Readable(text), q.Text) {
		return false
	}
	if len(q.Fields) == 0 {
		return true
	}
	value, ok := decoded(text)
	return ok && !slices.ContainsFunc(q.Fields, func(f Field) bool {
		return !fieldWalk{strings.Split(f.Name, "."), f.Value}.within(value, nil)
	})
}

// words are the letters that a text has in it for certain, if it is looked for.
func (q Query) words() []string {
	words := []string{q.Text}
	for _, f := range q.Fields {
		words = append(words, f.Value)
	}
	return slices.DeleteFunc(words, func(word string) bool { return !plainJSON(word) })
}

// decoded reads JSON, numbers as they stand.
func decoded(text string) (value any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return value, d.Decode(&value) == nil && !d.More()
}

// fieldWalk looks for a field in JSON.
type fieldWalk struct {
	names []string
	value string
}

// within reports whether what stands at path has the field in it, or is it. Arrays have no names. One path after the other is in the
// same memory: a text may be ten thousand objects deep.
func (w fieldWalk) within(value any, path []string) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if w.within(inner, append(path, name)) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return w.within(inner, path) })
	case string:
		return v == w.value && w.at(path) || w.inside(v, path)
	default: // a number, true, false, null
		text, err := json.Marshal(v)
		return err == nil && bytes.Equal(text, []byte(w.value)) && w.at(path)
	}
	return false
}

// inside looks into a text that holds JSON itself, as PHP producers like to write.
func (w fieldWalk) inside(text string, path []string) bool {
	if start := strings.TrimLeft(text, " \t\r\n"); !strings.HasPrefix(start, "{") && !strings.HasPrefix(start, "[") {
		return false
	}
	value, ok := decoded(text)
	return ok && w.within(value, path)
}

// at reports whether path ends with the names.
func (w fieldWalk) at(path []string) bool {
	from := len(path) - len(w.names)
	return from >= 0 && slices.EqualFunc(path[from:], w.names, strings.EqualFold)
}
